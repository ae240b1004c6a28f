// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_ATOMICS_CUH_
#define MILLSTREAM_DEVICES_CUDA_ATOMICS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "millstream/devices/cuda/types.cuh"

// Updates of one element by many threads. The order is that of arrival: sums of floats differ in their last bits.
namespace millstream::cuda {

enum class Atomic { kAdd, kSub, kMul, kMin, kMax };

// *to = combine(*to, value), with values of the wide type.
template <typename D, typename Combine>
__device__ __forceinline__ void AtomicUpdate(D* to, const Combine& combine) {
  using Bits = std::conditional_t<sizeof(D) == 2, unsigned short,
                                  std::conditional_t<sizeof(D) == 4, unsigned int, unsigned long long>>;
  static_assert(sizeof(D) == sizeof(Bits));
  auto* const at = reinterpret_cast<Bits*>(to);
  Bits seen = *reinterpret_cast<volatile Bits*>(at);
  while (true) {
    const D next = Narrow<D>(combine(Widen(*reinterpret_cast<const D*>(&seen))));
    const Bits wanted = *reinterpret_cast<const Bits*>(&next);
    if (wanted == seen) return;
    const Bits found = atomicCAS(at, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

template <Atomic op, typename D>
__device__ __forceinline__ void AtomicCombine(D* to, D value) {
  using W = WideType<D>;
  if constexpr (op == Atomic::kAdd && std::is_same_v<D, int64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  } else if constexpr (op == Atomic::kAdd) {
    atomicAdd(to, value);
  } else {
    const W v = Widen(value);
    AtomicUpdate(to, [v](W old) -> W {
      if constexpr (op == Atomic::kSub) return static_cast<W>(old - v);
      if constexpr (op == Atomic::kMul) return static_cast<W>(old * v);
      if constexpr (op == Atomic::kMin) return v < old ? v : old;
      return v > old ? v : old;
    });
  }
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_ATOMICS_CUH_
