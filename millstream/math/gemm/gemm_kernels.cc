// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm/gemm_kernels.h"

#include "millstream/math/gemm/winograd_kernels.h"

namespace millstream::math {

using simd::ActiveIsa;
using simd::Isa;

namespace {

template <typename Kernels>
const Kernels& OfActiveIsa(const Kernels& sse2, const Kernels& avx2, const Kernels& avx512) {
  if (ActiveIsa() == Isa::kAvx512) return avx512;
  return ActiveIsa() == Isa::kAvx2 ? avx2 : sse2;
}

}  // namespace

template <>
const GemmKernels<float>& CurrentKernels() {
  return OfActiveIsa(kSse2Float, kAvx2Float, kAvx512Float);
}

template <>
const GemmKernels<double>& CurrentKernels() {
  return OfActiveIsa(kSse2Double, kAvx2Double, kAvx512Double);
}

const WinogradKernels& CurrentWinogradKernels(int64_t filter) {
  const WinogradSizes& sizes = OfActiveIsa(kSse2Winograd, kAvx2Winograd, kAvx512Winograd);
  return filter == 3 ? sizes.three : sizes.five;
}

}  // namespace millstream::math
