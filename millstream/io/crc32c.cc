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
// Applied to a sum, what kStream zero bytes after its data would make of it; by bytes of the sum.
constexpr size_t kStream = 1024;
using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

constexpr uint32_t AfterZeros(uint32_t crc, size_t bytes) {
  constexpr std::array<uint32_t, 256> kTable = MakeTable();
  for (; bytes > 0; --bytes) crc = kTable[crc & 0xff] ^ (crc >> 8);
  return crc;
}

ShiftTable MakeShiftTable() {
  std::array<uint32_t, 32> bits;  // the operation is linear
  for (int bit = 0; bit < 32; ++bit) bits[bit] = AfterZeros(uint32_t{1} << bit, kStream);
  ShiftTable table{};
  for (int byte = 0; byte < 4; ++byte) {
    for (uint32_t n = 0; n < 256; ++n) {
      for (int bit = 0; bit < 8; ++bit) table[byte][n] ^= (n >> bit & 1) ? bits[8 * byte + bit] : 0;
    }
  }
  return table;
}

uint32_t Shift(const ShiftTable& table, uint32_t crc) {
  return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^ table[3][crc >> 24];
}

// Three streams at once: the instruction takes three cycles, but one can begin in each. The sums are variables of their
// own, not an array, so that they stay in registers.
__attribute__((target("sse4.2"))) uint32_t ThreeStreams(uint32_t crc, const uint8_t* p) {
  static const ShiftTable kShift = MakeShiftTable();
  uint64_t first = crc, second = 0, third = 0;
  for (const uint8_t* end = p + kStream; p != end; p += 32) {
    uint64_t words[3][4];
    for (int s = 0; s < 3; ++s) std::memcpy(words[s], p + s * kStream, 32);
    for (int i = 0; i < 4; ++i) {
      first = _mm_crc32_u64(first, words[0][i]);
      second = _mm_crc32_u64(second, words[1][i]);
      third = _mm_crc32_u64(third, words[2][i]);
    }
  }
  crc = Shift(kShift, static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
  return Shift(kShift, crc) ^ static_cast<uint32_t>(third);
}

__attribute__((target("sse4.2"))) uint32_t Hardware(uint32_t crc, const uint8_t* p, size_t n) {
  for (; n >= 3 * kStream; n -= 3 * kStream, p += 3 * kStream) crc = ThreeStreams(crc, p);
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

// a * b of polynomials over GF(2), modulo that of the sum. The highest bit is the coefficient of x^0.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// x^(8 * 2^i): what 2^i zero bytes multiply a sum by.
constexpr std::array<uint32_t, 64> MakeZeroPowers() {
  std::array<uint32_t, 64> powers{};
  powers[0] = uint32_t{1} << (31 - 8);
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = Multiply(powers[i - 1], powers[i - 1]);
  return powers;
}

}  // namespace

uint32_t JoinCrc32c(uint32_t first, uint32_t second, size_t second_bytes) {
  static constexpr std::array<uint32_t, 64> kPowers = MakeZeroPowers();
  for (size_t i = 0; second_bytes != 0; ++i, second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) first = Multiply(kPowers[i], first);
  }
  return first ^ second;
}

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
