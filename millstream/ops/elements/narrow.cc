// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/narrow.h"

#include "millstream/math/simd.h"

namespace millstream {

void WidenToFloat(DType narrow, const void* from, float* to, int64_t n) {
  if (narrow == DType::kHalf) {
    const auto* x = static_cast<const uint16_t*>(from);
    simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] = float16_internal::HalfToFloat(x[i]); });
  } else {
    const auto* x = static_cast<const uint16_t*>(from);
    simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      to[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i]) << 16);
    });
  }
}

void NarrowFromFloat(DType narrow, const float* from, void* to, int64_t n) {
  auto* y = static_cast<uint16_t*>(to);
  if (narrow == DType::kHalf) {
    simd::For<float>(0, n,
                     [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = float16_internal::HalfFromFloat(from[i]); });
  } else {
    simd::For<float>(0, n,
                     [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = float16_internal::BFloat16FromFloat(from[i]); });
  }
}

}  // namespace millstream
