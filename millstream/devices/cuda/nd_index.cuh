// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_ND_INDEX_CUH_
#define MILLSTREAM_DEVICES_CUDA_ND_INDEX_CUH_

#include "millstream/base/status.h"
#include "millstream/devices/cuda/index_array.cuh"
#include "millstream/tensor/shape.h"

namespace millstream::cuda {

inline constexpr int kMaxNdIndex = 8;

// Rows of indices that point at slices of a tensor: their first `depth` dimensions are given.
struct NdIndex {
  IndexArray indices;
  int depth;
  int64_t dims[kMaxNdIndex];

  // The number of the slice that row `row` points at, -1 if it is outside of the tensor.
  __device__ __forceinline__ int64_t Slice(int64_t row) const {
    int64_t slice = 0;
    bool outside = false;
    for (int d = 0; d < depth; ++d) {
      const int64_t at = indices[row * depth + d];
      outside |= at < 0 || at >= dims[d];
      slice = slice * dims[d] + at;
    }
    return outside ? -1 : slice;
  }
};

// Unimplemented if more than 8 dimensions are indexed.
inline StatusOr<NdIndex> MakeNdIndex(const Tensor& indices, const Shape& into) {
  NdIndex nd{IndexArray(indices), static_cast<int>(indices.dim(indices.rank() - 1)), {}};
  if (nd.depth > kMaxNdIndex) {
    return errors::Unimplemented("indices of more than ", kMaxNdIndex, " dimensions on GPUs, got ", nd.depth);
  }
  for (int d = 0; d < nd.depth; ++d) nd.dims[d] = into.dim(d);
  return nd;
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_ND_INDEX_CUH_
