// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/md5.h"

#include <bit>
#include <cmath>
#include <string>

namespace millstream {
namespace {

using Words = std::array<uint32_t, 4>;

// RFC 1321, 3.4: word i of the table is the integer part of 2^32 * |sin(i + 1)|.
const std::array<uint32_t, 64>& Sines() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> sines;
    for (size_t i = 0; i < 64; ++i) {
      sines[i] = static_cast<uint32_t>(std::floor(std::ldexp(std::fabs(std::sin(static_cast<double>(i + 1))), 32)));
    }
    return sines;
  }();
  return table;
}

constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

uint32_t Mix(size_t round, uint32_t b, uint32_t c, uint32_t d) {
  switch (round) {
    case 0:
      return (b & c) | (~b & d);
    case 1:
      return (b & d) | (c & ~d);
    case 2:
      return b ^ c ^ d;
    default:
      return c ^ (b | ~d);
  }
}

// The position of the word that step i of a round takes.
size_t WordOf(size_t round, size_t i) {
  constexpr size_t kFactor[4] = {1, 5, 3, 7}, kStart[4] = {0, 1, 5, 0};
  return (kStart[round] + kFactor[round] * i) % 16;
}

uint32_t WordAt(absl::string_view block, size_t word) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(block[4 * word + i])} << (8 * i);
  return value;
}

void AddBlock(absl::string_view block, Words& state) {
  auto [a, b, c, d] = state;
  for (size_t step = 0; step < 64; ++step) {
    const size_t round = step / 16;
    const uint32_t sum = a + Mix(round, b, c, d) + WordAt(block, WordOf(round, step % 16)) + Sines()[step];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[round][step % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::array<uint8_t, 16> Md5(absl::string_view bytes) {
  std::string padded(bytes);
  padded.push_back('\x80');
  padded.append((120 - padded.size() % 64) % 64, '\0');
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (int i = 0; i < 8; ++i) padded.push_back(static_cast<char>(bits >> (8 * i)));
  Words state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (size_t at = 0; at < padded.size(); at += 64) AddBlock(absl::string_view(padded).substr(at, 64), state);
  std::array<uint8_t, 16> digest;
  for (size_t i = 0; i < 16; ++i) digest[i] = static_cast<uint8_t>(state[i / 4] >> (8 * (i % 4)));
  return digest;
}

}  // namespace millstream
