// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/vector_math.h"

#include <algorithm>

namespace millstream::math {
namespace {

constexpr float kReducible = 1.6e6f;
constexpr int64_t kBlock = 256;

// Fast for all elements of [x, x + n), then again by libm for the block if one
// of them was too large.
template <typename Fast, typename Exact>
void Trigonometric(const float* x, float* y, int64_t n, Fast fast, Exact exact) {
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    const bool small = simd::Run<float>([=] {
      int32_t large = 0;
      for (int64_t i = begin; i < end; ++i) large |= std::fabs(x[i]) > kReducible ? 1 : 0;
      return large == 0;
    });
    if (small) [[likely]] {
      simd::For<float>(begin, end, [=](int64_t i) { y[i] = fast(x[i]); });
    } else {
      for (int64_t i = begin; i < end; ++i) y[i] = exact(x[i]);
    }
  }
}

}  // namespace

void SinArray(const float* x, float* y, int64_t n) {
  Trigonometric(
      x, y, n, [](float v) MILLSTREAM_INLINE_LAMBDA { return Sin(v); }, [](float v) { return std::sin(v); });
}

void CosArray(const float* x, float* y, int64_t n) {
  Trigonometric(
      x, y, n, [](float v) MILLSTREAM_INLINE_LAMBDA { return Cos(v); }, [](float v) { return std::cos(v); });
}

}  // namespace millstream::math
