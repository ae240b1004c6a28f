// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_STRIDED_H_
#define MILLSTREAM_DEVICES_CUDA_STRIDED_H_

#include <array>
#include <cstdint>

#include "millstream/base/status.h"
#include "millstream/tensor/shape.h"

namespace millstream::cuda {

inline constexpr int kMaxStridedDims = 8;

// How N operands are read as if they had the shape of the result: dimensions collapsed to as few as possible, the last
// one first. Passed to device code by value.
template <int N>
struct Strided {
  int rank = 0;
  int64_t dims[kMaxStridedDims];
  int64_t strides[N][kMaxStridedDims];  // in elements; 0 where an operand is repeated
};

// What one operand of a broadcast looks like along `out`: 0 where it is repeated. REQUIRES: it broadcasts to `out`.
std::array<int64_t, kMaxRank> BroadcastStrides(const Shape& in, const Shape& out);

// Adds a dimension in front of those there are, merging it with the last one where all operands allow it. False if
// there are too many.
template <int N>
bool AddDim(int64_t dim, const std::array<int64_t, N>& strides, Strided<N>* to) {
  if (dim == 1) return true;
  if (to->rank > 0) {
    const int last = to->rank - 1;
    bool merges = true;
    for (int k = 0; k < N; ++k) merges &= strides[k] == to->strides[k][last] * to->dims[last];
    if (merges) {
      to->dims[last] *= dim;
      return true;
    }
  }
  if (to->rank == kMaxStridedDims) return false;
  to->dims[to->rank] = dim;
  for (int k = 0; k < N; ++k) to->strides[k][to->rank] = strides[k];
  ++to->rank;
  return true;
}

// REQUIRES: every operand broadcasts to `out`. Unimplemented if more than 8 dimensions are left after collapsing.
template <int N>
StatusOr<Strided<N>> MakeStrided(const std::array<const Shape*, N>& operands, const Shape& out) {
  std::array<std::array<int64_t, kMaxRank>, N> all;
  for (int k = 0; k < N; ++k) all[k] = BroadcastStrides(*operands[k], out);
  Strided<N> strided;
  for (int d = out.rank() - 1; d >= 0; --d) {
    std::array<int64_t, N> strides;
    for (int k = 0; k < N; ++k) strides[k] = all[k][d];
    if (!AddDim<N>(out.dim(d), strides, &strided)) {
      return errors::Unimplemented("broadcasting between more than ", kMaxStridedDims,
                                   " dimensions on GPUs: ", out.ToString());
    }
  }
  return strided;
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_STRIDED_H_
