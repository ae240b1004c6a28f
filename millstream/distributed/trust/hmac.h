// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TRUST_HMAC_H_
#define MILLSTREAM_DISTRIBUTED_TRUST_HMAC_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millstream {

inline constexpr size_t kHmacBytes = 32;
inline constexpr size_t kNonceBytes = 32;

// HMAC-SHA256: kHmacBytes bytes.
std::string HmacSha256(absl::string_view key, absl::string_view message);
// Takes a time that depends on the sizes alone.
bool EqualInConstantTime(absl::string_view a, absl::string_view b);
// From the kernel's generator (getrandom). REQUIRES: size <= 256.
std::string RandomBytes(size_t size);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TRUST_HMAC_H_
