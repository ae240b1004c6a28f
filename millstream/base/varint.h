// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_VARINT_H_
#define MILLSTREAM_BASE_VARINT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace millstream {

// Numbers in base 128, lowest digits first, as protobuf has them.
inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// Takes one number of at most 10 bytes from the front. False if there is none.
inline bool ConsumeVarint(absl::string_view* in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace millstream

#endif  // MILLSTREAM_BASE_VARINT_H_
