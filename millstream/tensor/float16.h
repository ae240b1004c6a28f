// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_FLOAT16_H_
#define MILLSTREAM_TENSOR_FLOAT16_H_

#include <bit>
#include <cstdint>
#include <type_traits>

namespace millstream {

// IEEE binary16 and bfloat16 as storage types: arithmetic happens in float, every conversion rounds to nearest even.
namespace float16_internal {

inline uint16_t HalfFromFloat(float f) {
  const uint32_t x = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (x >> 16) & 0x8000u;
  const uint32_t mag = x & 0x7fffffffu;
  if (mag >= 0x7f800000u) {  // inf, nan (kept quiet, top mantissa bits kept)
    return static_cast<uint16_t>(sign | 0x7c00u | (mag > 0x7f800000u ? 0x200u | ((mag >> 13) & 0x3ffu) : 0u));
  }
  if (mag >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (mag < 0x38800000u) {  // subnormal half or zero: let the FPU round at 2^-24
    const float shifted = std::bit_cast<float>(mag) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (mag >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((mag - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t mag = h & 0x7fffu;
  if (mag >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((mag & 0x3ffu) << 13));
  if (mag < 0x400u) {  // subnormal: exact in float
    const float value = static_cast<float>(mag) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((mag << 13) + 0x38000000u));
}

inline uint16_t BFloat16FromFloat(float f) {
  const uint32_t x = std::bit_cast<uint32_t>(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

}  // namespace float16_internal

#define MILLSTREAM_FLOAT16_TYPE(Name, FROM, TO)                                          \
  struct Name {                                                                          \
    uint16_t bits = 0;                                                                   \
    Name() = default;                                                                    \
    template <typename V, typename = std::enable_if_t<std::is_arithmetic_v<V>>>          \
    explicit(!std::is_same_v<V, float>) Name(V v) : bits(FROM(static_cast<float>(v))) {} \
    operator float() const { return TO; } /* NOLINT(google-explicit-constructor) */      \
    static Name FromBits(uint16_t b) {                                                   \
      Name n;                                                                            \
      n.bits = b;                                                                        \
      return n;                                                                          \
    }                                                                                    \
    Name& operator+=(float o) { return *this = Name(float(*this) + o); }                 \
    Name& operator-=(float o) { return *this = Name(float(*this) - o); }                 \
    Name& operator*=(float o) { return *this = Name(float(*this) * o); }                 \
    Name& operator/=(float o) { return *this = Name(float(*this) / o); }                 \
  };

MILLSTREAM_FLOAT16_TYPE(Half, float16_internal::HalfFromFloat, float16_internal::HalfToFloat(bits))
MILLSTREAM_FLOAT16_TYPE(BFloat16, float16_internal::BFloat16FromFloat,
                        std::bit_cast<float>(static_cast<uint32_t>(bits) << 16))
#undef MILLSTREAM_FLOAT16_TYPE

template <typename T>
inline constexpr bool kIsFloat16 = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type in which a kernel computes with elements of type T: float for the 16-bit floats, T itself otherwise.
template <typename T>
using Compute = std::conditional_t<kIsFloat16<T>, float, T>;

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_FLOAT16_H_
