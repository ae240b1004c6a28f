// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_PAGE_H_
#define MILLSTREAM_STATUS_PAGE_H_

namespace millstream {

// The status page, one HTML file without others, made of page/ when the library is built. NONCE stands where each
// answer puts a number of its own: only scripts and styles that carry it run.
extern const char kStatusPage[];

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_PAGE_H_
