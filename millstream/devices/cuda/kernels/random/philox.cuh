// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_PHILOX_CUH_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_PHILOX_CUH_

#include <cstdint>

#include "millstream/devices/cuda/kernels/random/philox_state.h"
#include "millstream/devices/cuda/types.cuh"

// The numbers of millstream/math/random/philox.h and random.h on a GPU: uniform numbers are equal bit for bit, normal
// ones up to rounding.
namespace millstream::cuda {

__device__ __forceinline__ void SkipBlocks(PhiloxState* state, uint64_t blocks) {
  const uint64_t sum = state->low + blocks;
  state->high += sum < state->low ? 1 : 0;
  state->low = sum;
}

__device__ __forceinline__ uint4 PhiloxBlock(PhiloxState state) {
  uint4 c = {static_cast<uint32_t>(state.low), static_cast<uint32_t>(state.low >> 32),
             static_cast<uint32_t>(state.high), static_cast<uint32_t>(state.high >> 32)};
  uint32_t k0 = state.key[0], k1 = state.key[1];
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(0xD2511F53U, c.x), low0 = 0xD2511F53U * c.x;
    const uint32_t high1 = __umulhi(0xCD9E8D57U, c.z), low1 = 0xCD9E8D57U * c.z;
    c = {high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

// [0, 1) from the low 23 bits.
__device__ __forceinline__ float UniformFloat(uint32_t x) {
  return __uint_as_float((x & 0x7fffffU) | 0x3f800000U) - 1.0f;
}
// [0, 1) from the low 20 bits of `high` and all of `low`.
__device__ __forceinline__ double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t mantissa = static_cast<uint64_t>(high & 0xfffffU) << 32 | low;
  return __longlong_as_double(static_cast<long long>(mantissa | uint64_t{1023} << 52)) - 1.0;
}

// Two normal numbers from two uniform ones, by the method of Box and Muller.
template <typename W>
__device__ __forceinline__ void BoxMuller(W u, W angle, W* first, W* second) {
  constexpr W kSmallest = W(1.0e-7f);
  const W radius = sqrt(W(-2) * log(u < kSmallest ? kSmallest : u));
  *first = sin(angle) * radius;
  *second = cos(angle) * radius;
}
inline constexpr double kTwoPi = 6.283185307179586476925286766559;
__device__ __forceinline__ void NormalPair(uint32_t x0, uint32_t x1, float* first, float* second) {
  BoxMuller(UniformFloat(x0), static_cast<float>(kTwoPi * static_cast<double>(UniformFloat(x1))), first, second);
}
__device__ __forceinline__ void NormalPair(uint4 x, double* first, double* second) {
  BoxMuller(UniformDouble(x.x, x.y), kTwoPi * UniformDouble(x.z, x.w), first, second);
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_PHILOX_CUH_
