// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_CRC32C_H_
#define MILLSTREAM_IO_CRC32C_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace millstream {

// CRC-32C (Castagnoli), in hardware where the processor has it.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t bytes);
// The sum of two pieces of data, one behind the other, from the sums of each; the second has `second_bytes`.
uint32_t JoinCrc32c(uint32_t first, uint32_t second, size_t second_bytes);
inline uint32_t Crc32c(absl::string_view data) { return ExtendCrc32c(0, data.data(), data.size()); }

// As stored in files: a CRC of data that holds CRCs is weak, so they are rotated and shifted first.
inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace millstream

#endif  // MILLSTREAM_IO_CRC32C_H_
