// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm_kernels.h"

#include <atomic>

#include "millstream/math/conv_winograd_kernels.h"

namespace millstream::math {
namespace {

Isa DetectIsa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
  return Isa::kSse2;
}

std::atomic<Isa>& Current() {
  static std::atomic<Isa> current{BestIsa()};
  return current;
}

}  // namespace

Isa BestIsa() {
  static const Isa best = DetectIsa();
  return best;
}

Isa CurrentIsa() { return Current().load(std::memory_order_relaxed); }
void SetIsaForTest(Isa isa) { Current().store(isa, std::memory_order_relaxed); }

template <>
const GemmKernels<float>& KernelsFor(Isa isa) {
  if (isa == Isa::kAvx512) return Avx512KernelsFloat();
  return isa == Isa::kAvx2 ? Avx2KernelsFloat() : Sse2KernelsFloat();
}

template <>
const GemmKernels<double>& KernelsFor(Isa isa) {
  if (isa == Isa::kAvx512) return Avx512KernelsDouble();
  return isa == Isa::kAvx2 ? Avx2KernelsDouble() : Sse2KernelsDouble();
}

const WinogradKernels& CurrentWinogradKernels(int64_t filter) {
  if (CurrentIsa() == Isa::kAvx512) return Avx512Winograd(filter);
  return CurrentIsa() == Isa::kAvx2 ? Avx2Winograd(filter) : Sse2Winograd(filter);
}

}  // namespace millstream::math
