// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_LOCATE_CUH_
#define MILLSTREAM_DEVICES_CUDA_LOCATE_CUH_

#include "millstream/devices/cuda/strided.h"

namespace millstream::cuda {

// *rest % dim; *rest is divided by dim. 64-bit divisions take several times as long as 32-bit ones.
__device__ __forceinline__ int64_t TakeDim(int64_t* rest, int64_t dim) {
  if (*rest <= INT32_MAX && dim <= INT32_MAX) {
    const auto left = static_cast<uint32_t>(*rest), size = static_cast<uint32_t>(dim);
    const uint32_t quotient = left / size;
    *rest = quotient;
    return left - quotient * size;
  }
  const int64_t quotient = *rest / dim, remainder = *rest - quotient * dim;
  *rest = quotient;
  return remainder;
}

// Where element i of the result is in each operand. Indices up to 2^31 are divided as 32-bit numbers, which is several
// times faster.
template <int N>
__device__ __forceinline__ void Locate(const Strided<N>& at, int64_t i, int64_t (&where)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) where[k] = 0;
  const bool is_small = i <= INT32_MAX;
  auto rest = static_cast<uint32_t>(i);
#pragma unroll 1
  for (int d = 0; d < at.rank; ++d) {
    int64_t here;
    if (d == at.rank - 1) {
      here = is_small ? static_cast<int64_t>(rest) : i;
    } else if (is_small && at.dims[d] <= INT32_MAX) {
      const auto dim = static_cast<uint32_t>(at.dims[d]);
      here = rest % dim;
      rest /= dim;
    } else {
      const int64_t left = is_small ? static_cast<int64_t>(rest) : i;
      here = left % at.dims[d];
      i = left / at.dims[d];
      rest = static_cast<uint32_t>(i);
    }
#pragma unroll
    for (int k = 0; k < N; ++k) where[k] += here * at.strides[k][d];
  }
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_LOCATE_CUH_
