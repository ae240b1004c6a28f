// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_MD5_H_
#define MILLSTREAM_BASE_MD5_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace millstream {

// The MD5 digest (RFC 1321). Not for secrets: TensorFlow derives the seeds of dropout from it.
std::array<uint8_t, 16> Md5(absl::string_view bytes);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_MD5_H_
