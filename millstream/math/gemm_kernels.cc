// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm_kernels.h"

#include "millstream/math/conv_winograd_kernels.h"

namespace millstream::math {

using simd::ActiveIsa;
using simd::Isa;

template <>
const GemmKernels<float>& CurrentKernels() {
  if (ActiveIsa() == Isa::kAvx512) return Avx512KernelsFloat();
  return ActiveIsa() == Isa::kAvx2 ? Avx2KernelsFloat() : Sse2KernelsFloat();
}

template <>
const GemmKernels<double>& CurrentKernels() {
  if (ActiveIsa() == Isa::kAvx512) return Avx512KernelsDouble();
  return ActiveIsa() == Isa::kAvx2 ? Avx2KernelsDouble() : Sse2KernelsDouble();
}

const WinogradKernels& CurrentWinogradKernels(int64_t filter) {
  if (ActiveIsa() == Isa::kAvx512) return Avx512Winograd(filter);
  return ActiveIsa() == Isa::kAvx2 ? Avx2Winograd(filter) : Sse2Winograd(filter);
}

}  // namespace millstream::math
