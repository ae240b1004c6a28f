// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SUMMARY_PNG_H_
#define MILLSTREAM_OPS_SUMMARY_PNG_H_

#include <cstdint>
#include <string>

#include "millstream/base/status.h"

namespace millstream {

// A PNG file of 8-bit pixels: rows from the top, `channels` (1 grey, 2 grey and alpha, 3 RGB, 4 RGBA) bytes each.
// REQUIRES: width, height in [1, 2^31); pixels has height * width * channels bytes.
StatusOr<std::string> EncodePng(const uint8_t* pixels, int64_t width, int64_t height, int channels);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SUMMARY_PNG_H_
