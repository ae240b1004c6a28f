// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_SOFTMAX_ROWS_CUH_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_SOFTMAX_ROWS_CUH_

#include "millstream/devices/cuda/elementwise.cuh"

namespace millstream::cuda {

inline constexpr int kSoftmaxThreads = 256;

// What softmax needs of a row: its maximum, and the sum of exp(x - maximum). Made in one pass: what was summed is
// scaled down whenever the maximum grows.
template <typename W>
struct RowSummary {
  W max, sum;
};

template <typename W>
__device__ __forceinline__ RowSummary<W> JoinSummaries(RowSummary<W> a, RowSummary<W> b) {
  const W high = a.max > b.max ? a.max : b.max;
  // An empty part has the maximum -inf and must not make NaN of inf - inf.
  const W left = a.sum == W(0) ? W(0) : a.sum * exp(a.max - high);
  const W right = b.sum == W(0) ? W(0) : b.sum * exp(b.max - high);
  return {high, left + right};
}

// A row is read by a warp, or by a block of kSoftmaxThreads.
struct RowTeam {
  bool by_warp;
  int lane, lanes;
  int64_t first, step;  // rows of this team
  __device__ explicit RowTeam(bool by_warp)
      : by_warp(by_warp),
        lane(by_warp ? threadIdx.x % 32 : threadIdx.x),
        lanes(by_warp ? 32 : kSoftmaxThreads),
        first(by_warp ? blockIdx.x * int64_t{kSoftmaxThreads / 32} + threadIdx.x / 32 : blockIdx.x),
        step(by_warp ? gridDim.x * int64_t{kSoftmaxThreads / 32} : gridDim.x) {}

  // Every lane gets the result.
  template <typename W>
  __device__ RowSummary<W> Join(RowSummary<W> all) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      all = JoinSummaries(all, {__shfl_xor_sync(~0U, all.max, step), __shfl_xor_sync(~0U, all.sum, step)});
    }
    if (by_warp) return all;
    __shared__ W max[kSoftmaxThreads / 32], sum[kSoftmaxThreads / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      max[threadIdx.x / 32] = all.max;
      sum[threadIdx.x / 32] = all.sum;
    }
    __syncthreads();
    all = {max[0], sum[0]};
    for (int i = 1; i < kSoftmaxThreads / 32; ++i) all = JoinSummaries(all, {max[i], sum[i]});
    return all;
  }
  template <typename W>
  __device__ W Sum(W value) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0U, value, step);
    if (by_warp) return value;
    __shared__ W sums[kSoftmaxThreads / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < kSoftmaxThreads / 32; ++i) value += sums[i];
    return value;
  }
};

// `read(column)` gives a wide value. Elements that are -inf add nothing; a row of nothing else has the sum 0.
template <typename W, typename Read>
__device__ __forceinline__ RowSummary<W> SummarizeRow(const RowTeam& team, int64_t columns, const Read& read) {
  RowSummary<W> all = {-static_cast<W>(INFINITY), W(0)};
  for (int64_t c = team.lane; c < columns; c += team.lanes) {
    const W x = read(c);
    if (x > all.max || x != x) {
      all.sum = all.sum == W(0) ? W(1) : all.sum * exp(all.max - x) + W(1);
      all.max = x;
    } else if (x != -static_cast<W>(INFINITY)) {
      all.sum += exp(x - all.max);
    }
  }
  return team.Join(all);
}

struct RowLaunch {
  bool by_warp;
  unsigned int blocks;
  RowLaunch(int64_t rows, int64_t columns) : by_warp(columns <= 1024) {
    const int64_t teams = by_warp ? kSoftmaxThreads / 32 : 1;
    blocks = static_cast<unsigned int>(std::clamp<int64_t>((rows + teams - 1) / teams, 1, kMaxBlocks));
  }
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_SOFTMAX_ROWS_CUH_
