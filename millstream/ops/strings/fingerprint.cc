// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/strings/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace millstream {
namespace {

static_assert(std::endian::native == std::endian::little);

uint64_t Load64(const char* p) {
  uint64_t v = 0;
  std::memcpy(&v, p, 8);
  return v;
}
uint64_t Load32(const char* p) {
  uint32_t v = 0;
  std::memcpy(&v, p, 4);
  return v;
}
uint64_t Mix(uint64_t v) { return v ^ (v >> 47); }

// FarmHash by G. Pike, of which this is the fixed 64-bit function.
constexpr uint64_t kFarm0 = 0xc3a5c85c97cb3127, kFarm1 = 0xb492b66fbe98f273, kFarm2 = 0x9ae16a3b2f90404f;

uint64_t Join(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = Mix((u ^ v) * factor);
  return Mix((v ^ a) * factor) * factor;
}

uint64_t UpTo16(const char* s, uint64_t n) {
  const uint64_t factor = kFarm2 + 2 * n;
  if (n >= 8) {
    const uint64_t a = Load64(s) + kFarm2, b = Load64(s + n - 8);
    return Join(std::rotr(b, 37) * factor + a, (std::rotr(a, 25) + b) * factor, factor);
  }
  if (n >= 4) return Join(n + (Load32(s) << 3), Load32(s + n - 4), factor);
  if (n == 0) return kFarm2;
  const auto at = [s](uint64_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(s[i])); };
  const uint32_t y = at(0) + (at(n / 2) << 8);
  const uint32_t z = static_cast<uint32_t>(n) + (at(n - 1) << 2);
  return Mix(y * kFarm2 ^ z * kFarm0) * kFarm2;
}

uint64_t UpTo32(const char* s, uint64_t n) {
  const uint64_t factor = kFarm2 + 2 * n;
  const uint64_t a = Load64(s) * kFarm1, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * factor, d = Load64(s + n - 16) * kFarm2;
  return Join(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kFarm2, 18) + c, factor);
}

uint64_t UpTo64(const char* s, uint64_t n) {
  const uint64_t factor = kFarm2 + 2 * n;
  const uint64_t a = Load64(s) * kFarm2, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * factor, d = Load64(s + n - 16) * kFarm2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = Join(y, a + std::rotr(b + kFarm2, 18) + c, factor);
  const uint64_t e = Load64(s + 16) * factor, f = Load64(s + 24);
  const uint64_t g = (y + Load64(s + n - 32)) * factor, h = (z + Load64(s + n - 24)) * factor;
  return Join(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, factor);
}

struct FarmState {
  uint64_t x = 81, y = 0, z = 0;
  std::pair<uint64_t, uint64_t> v{0, 0}, w{0, 0};

  static std::pair<uint64_t, uint64_t> Weak(const char* s, uint64_t a, uint64_t b) {
    const uint64_t last = Load64(s + 24);
    a += Load64(s);
    b = std::rotr(b + a + last, 21);
    const uint64_t start = a;
    a += Load64(s + 8) + Load64(s + 16);
    return {a + last, b + std::rotr(a, 44) + start};
  }
  // One block of 64 bytes; the last one is weighted otherwise.
  void Block(const char* s, uint64_t factor, uint64_t weight) {
    x = std::rotr(x + y + v.first + Load64(s + 8), 37) * factor;
    y = std::rotr(y + v.second + Load64(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + Load64(s + 40);
    z = std::rotr(z + w.first, 33) * factor;
    v = Weak(s, v.second * factor, x + w.first);
    w = Weak(s + 32, z + w.second, y + Load64(s + 16));
    std::swap(z, x);
  }
};

uint64_t Longer(const char* s, uint64_t n) {
  FarmState f;
  f.y = f.x * kFarm1 + 113;
  f.z = Mix(f.y * kFarm2 + 113) * kFarm2;
  f.x = f.x * kFarm2 + Load64(s);
  const char* const end = s + (n - 1) / 64 * 64;
  const uint64_t rest = (n - 1) % 64;
  for (; s != end; s += 64) f.Block(s, kFarm1, 1);
  const uint64_t factor = kFarm1 + ((f.z & 0xff) << 1);
  f.w.first += rest;
  f.v.first += f.w.first;
  f.w.first += f.v.first;
  f.Block(end + rest - 63, factor, 9);
  return Join(Join(f.v.first, f.w.first, factor) + Mix(f.y) * kFarm0 + f.z, Join(f.v.second, f.w.second, factor) + f.x,
              factor);
}

// The 128-bit function is CityHash's, of the same author.
uint64_t JoinPair(uint64_t u, uint64_t v) { return Join(u, v, 0x9ddfea08eb382d69); }

// Up to 127 bytes, by a chain of multiplications as in Murmur.
Fingerprint128Value ShortPair(const char* s, uint64_t n, Fingerprint128Value seed) {
  const auto scramble = [](uint64_t word) { return Mix(word * kFarm1) * kFarm1; };
  uint64_t a = seed.low, b = seed.high, c = 0, d = 0;
  if (n <= 16) {
    a = scramble(a);
    c = b * kFarm1 + UpTo16(s, n);
    d = Mix(a + (n >= 8 ? Load64(s) : c));
  } else {
    c = JoinPair(Load64(s + n - 8) + kFarm1, a);
    d = JoinPair(b + n, c + Load64(s + n - 16));
    a += d;
    for (const char* const last = s + n - 16; s < last; s += 16) {
      a = (a ^ scramble(Load64(s))) * kFarm1;
      b ^= a;
      c = (c ^ scramble(Load64(s + 8))) * kFarm1;
      d ^= c;
    }
  }
  a = JoinPair(a, c);
  b = JoinPair(d, b);
  return {a ^ b, JoinPair(b, a)};
}

Fingerprint128Value LongPair(const char* s, uint64_t n, Fingerprint128Value seed) {
  FarmState f;
  f.x = seed.low;
  f.y = seed.high;
  f.z = n * kFarm1;
  f.v.first = std::rotr(f.y ^ kFarm1, 49) * kFarm1 + Load64(s);
  f.v.second = std::rotr(f.v.first, 42) * kFarm1 + Load64(s + 8);
  f.w.first = std::rotr(f.y + f.z, 35) * kFarm1 + f.x;
  f.w.second = std::rotr(f.x + Load64(s + 88), 53) * kFarm1;
  const char* const end = s + n;
  for (; end - s >= 128; s += 128) {
    f.Block(s, kFarm1, 1);
    f.Block(s + 64, kFarm1, 1);
  }
  f.x += std::rotr(f.v.first + f.z, 49) * kFarm0;
  f.y = f.y * kFarm0 + std::rotr(f.w.second, 37);
  f.z = f.z * kFarm0 + std::rotr(f.w.first, 27);
  f.w.first *= 9;
  f.v.first *= kFarm0;
  // The rest in pieces of 32 bytes from the end; the last piece may reach back into what was hashed already.
  for (const char* piece = end; piece > s;) {
    piece -= 32;
    f.y = std::rotr(f.x + f.y, 42) * kFarm0 + f.v.second;
    f.w.first += Load64(piece + 16);
    f.x = f.x * kFarm0 + f.w.first;
    f.z += f.w.second + Load64(piece);
    f.w.second += f.v.first;
    f.v = FarmState::Weak(piece, f.v.first + f.z, f.v.second);
    f.v.first *= kFarm0;
  }
  f.x = JoinPair(f.x, f.v.first);
  f.y = JoinPair(f.y + f.z, f.w.first);
  return {JoinPair(f.x + f.v.second, f.w.second) + f.y, JoinPair(f.x + f.w.second, f.y + f.v.second)};
}

}  // namespace

uint64_t Fingerprint64(absl::string_view s) {
  const uint64_t n = s.size();
  if (n <= 16) return UpTo16(s.data(), n);
  if (n <= 32) return UpTo32(s.data(), n);
  if (n <= 64) return UpTo64(s.data(), n);
  return Longer(s.data(), n);
}

Fingerprint128Value Fingerprint128(absl::string_view s) {
  Fingerprint128Value seed = {kFarm0, kFarm1};
  if (s.size() >= 16) {
    seed = {Load64(s.data()), Load64(s.data() + 8) + kFarm0};
    s.remove_prefix(16);
  }
  return s.size() < 128 ? ShortPair(s.data(), s.size(), seed) : LongPair(s.data(), s.size(), seed);
}

uint64_t FingerprintCat64(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  uint64_t result = a ^ kFactor;
  result ^= Mix(b * kFactor) * kFactor;
  result *= kFactor;
  return Mix(Mix(result) * kFactor);
}

uint64_t Murmur64(absl::string_view s, uint64_t seed) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  uint64_t h = seed ^ (s.size() * kFactor);
  const char* p = s.data();
  size_t left = s.size();
  for (; left >= 8; p += 8, left -= 8) h = (h ^ Mix(Load64(p) * kFactor) * kFactor) * kFactor;
  if (left > 0) {
    uint64_t tail = 0;
    std::memcpy(&tail, p, left);
    h = (h ^ tail) * kFactor;
  }
  return Mix(Mix(h) * kFactor);
}

uint64_t SipHash(uint64_t key0, uint64_t key1, absl::string_view s) {
  uint64_t v0 = key0 ^ 0x736f6d6570736575, v1 = key1 ^ 0x646f72616e646f6d;
  uint64_t v2 = key0 ^ 0x6c7967656e657261, v3 = key1 ^ 0x7465646279746573;
  const auto rounds = [&](int n) {
    for (int i = 0; i < n; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto absorb = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  size_t at = 0;
  for (; at + 8 <= s.size(); at += 8) absorb(Load64(s.data() + at));
  uint64_t last = static_cast<uint64_t>(s.size()) << 56, tail = 0;
  std::memcpy(&tail, s.data() + at, s.size() - at);
  last |= tail;
  absorb(last);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace millstream
