// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace millstream {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reversed

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t n = 0; n < 256; ++n) {
    uint32_t c = n;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) ? kPolynomial : 0);
    table[n] = c;
  }
  return table;
}

uint32_t Portable(uint32_t crc, const uint8_t* p, size_t n) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  for (; n > 0; --n) crc = kTable[(crc ^ *p++) & 0xff] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Hardware(uint32_t crc, const uint8_t* p, size_t n) {
  uint64_t wide = crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; n > 0; --n) crc = _mm_crc32_u8(crc, *p++);
  return crc;
}
#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
#if defined(__x86_64__)
  static const bool kHardware = __builtin_cpu_supports("sse4.2");
  return ~(kHardware ? Hardware(crc, p, bytes) : Portable(crc, p, bytes));
#else
  return ~Portable(crc, p, bytes);
#endif
}

}  // namespace millstream
