// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_FILL_VECTORS_H_
#define MILLSTREAM_OPS_ELEMENTS_FILL_VECTORS_H_

#include "millstream/math/simd.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {

// As FillRun(), in vectors where the run is long enough for the choice of an instruction set to pay.
template <typename T>
void FillVectors(const T& value, int64_t n, T* to) {
  constexpr int64_t kShort = 16;
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t)) {
    if (n > kShort) {
      const auto bits = Bits(value);
      // Loops "of float" exist for every instruction set.
      return simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { Bits(to[i]) = bits; });
    }
  }
  FillRun(value, n, to);
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_FILL_VECTORS_H_
