// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_REDUCE_CUH_
#define MILLSTREAM_DEVICES_CUDA_REDUCE_CUH_

#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/reduce.h"

// Reductions of arrays [outer, reduce, inner] along the middle. The order of additions depends on sizes alone, so that
// results are the same in every run. An op is a struct with
//   template <typename W> static __device__ W Identity();
//   template <typename W> static __device__ W Combine(W a, W b);

namespace millstream::cuda {

inline constexpr int kReduceThreads = 256;

template <typename Op, typename W>
__device__ __forceinline__ W ReduceWarp(W value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = Op::template Combine<W>(value, __shfl_xor_sync(~0U, value, step));
  return value;
}

// The result is valid in thread 0. REQUIRES: kReduceThreads threads.
template <typename Op, typename W>
__device__ __forceinline__ W ReduceBlock(W value) {
  __shared__ W of_warp[kReduceThreads / 32];
  value = ReduceWarp<Op>(value);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < kReduceThreads / 32 ? of_warp[threadIdx.x] : Op::template Identity<W>();
    value = ReduceWarp<Op>(value);
  }
  __syncthreads();
  return value;
}

template <typename W>
__device__ __forceinline__ W ReduceInput(W x, const ReduceStep& step) {
  return step.square ? static_cast<W>(x * x) : x;
}

// Results are few: their type is looked at for each of them.
template <typename In, typename W>
__device__ __forceinline__ void StoreReduced(W value, const ReduceStep& step, void* out, int64_t at) {
  if constexpr (!std::is_same_v<W, bool>) {
    if (step.finish == Finish::kMean) {
      if constexpr (std::is_integral_v<W>) {
        value = step.count == 0 ? W(0) : static_cast<W>(value / step.count);
      } else {
        value /= static_cast<W>(step.count);
      }
    }
    if constexpr (std::is_floating_point_v<W>) {
      if (step.finish == Finish::kRoot) value = sqrt(value);
      if (step.finish == Finish::kHalf) value /= W(2);
    }
  }
  if constexpr (std::is_same_v<W, float>) {
    if (step.out == DType::kHalf) {
      static_cast<__half*>(out)[at] = Narrow<__half>(value);
      return;
    }
    if (step.out == DType::kBfloat16) {
      static_cast<__nv_bfloat16*>(out)[at] = Narrow<__nv_bfloat16>(value);
      return;
    }
  }
  static_cast<W*>(out)[at] = value;
}

// inner is 1; a row is cut into `chunks` parts with a result each. A warp for each part if it is short, else a block.
template <typename Op, typename In>
__global__ void ReduceRows(const In* in, void* out, int64_t rows, int64_t reduce, int64_t chunk, int64_t chunks,
                           ReduceStep step, bool by_warp) {
  using W = WideType<In>;
  const int lane = by_warp ? threadIdx.x % 32 : threadIdx.x, lanes = by_warp ? 32 : kReduceThreads;
  const int64_t teams = by_warp ? gridDim.x * int64_t{kReduceThreads / 32} : gridDim.x;
  const int64_t team = by_warp ? blockIdx.x * int64_t{kReduceThreads / 32} + threadIdx.x / 32 : blockIdx.x;
  for (int64_t part = team; part < rows * chunks; part += teams) {
    const int64_t begin = part % chunks * chunk, end = min(begin + chunk, reduce);
    const In* const row = in + part / chunks * reduce;
    W a = Op::template Identity<W>(), b = a, c = a, d = a;
    int64_t i = begin + lane;
    for (; i + 3 * lanes < end; i += 4 * lanes) {
      const W x0 = Widen(row[i]), x1 = Widen(row[i + lanes]), x2 = Widen(row[i + 2 * lanes]),
              x3 = Widen(row[i + 3 * lanes]);
      a = Op::template Combine<W>(a, ReduceInput(x0, step));
      b = Op::template Combine<W>(b, ReduceInput(x1, step));
      c = Op::template Combine<W>(c, ReduceInput(x2, step));
      d = Op::template Combine<W>(d, ReduceInput(x3, step));
    }
    for (; i < end; i += lanes) {
      const W x = Widen(row[i]);
      a = Op::template Combine<W>(a, ReduceInput(x, step));
    }
    W all = Op::template Combine<W>(Op::template Combine<W>(a, b), Op::template Combine<W>(c, d));
    all = by_warp ? ReduceWarp<Op>(all) : ReduceBlock<Op>(all);
    if (lane == 0) StoreReduced<In>(all, step, out, part);
  }
}

// Threads are 32 columns by 8 rows. The result is [outer, chunks, inner].
template <typename Op, typename In>
__global__ void ReduceColumns(const In* in, void* out, ReduceSizes s, int64_t chunk, int64_t chunks, ReduceStep step) {
  using W = WideType<In>;
  constexpr int kRows = kReduceThreads / 32;
  __shared__ W of_row[kRows][33];
  const int column = threadIdx.x % 32, row = threadIdx.x / 32;
  const int64_t strips = (s.inner + 31) / 32;
  for (int64_t part = blockIdx.x; part < s.outer * chunks * strips; part += gridDim.x) {
    const int64_t at = part % strips * 32 + column, rest = part / strips;
    const int64_t begin = rest % chunks * chunk, end = min(begin + chunk, s.reduce);
    W all = Op::template Identity<W>();
    if (at < s.inner) {
      const In* const from = in + rest / chunks * s.reduce * s.inner + at;
      W other = all;
      int64_t i = begin + row;
      for (; i + kRows < end; i += 2 * kRows) {
        const W x0 = Widen(from[i * s.inner]), x1 = Widen(from[(i + kRows) * s.inner]);
        all = Op::template Combine<W>(all, ReduceInput(x0, step));
        other = Op::template Combine<W>(other, ReduceInput(x1, step));
      }
      if (i < end) {
        const W x = Widen(from[i * s.inner]);
        all = Op::template Combine<W>(all, ReduceInput(x, step));
      }
      all = Op::template Combine<W>(all, other);
    }
    of_row[row][column] = all;
    __syncthreads();
    if (row == 0 && at < s.inner) {
      for (int r = 1; r < kRows; ++r) all = Op::template Combine<W>(all, of_row[r][column]);
      StoreReduced<In>(all, step, out, rest * s.inner + at);
    }
    __syncthreads();
  }
}

// How many parts the middle is cut into, so that there is work for the whole GPU.
inline int64_t ReduceChunks(const ReduceSizes& s) {
  const int64_t results = s.outer * (s.inner == 1 ? 1 : (s.inner + 31) / 32);
  const int64_t smallest = s.inner == 1 ? 4096 : 256;
  if (results >= 264 || s.reduce < 2 * smallest) return 1;
  return std::clamp<int64_t>(528 / results, 1, s.reduce / smallest);
}

template <typename Op, typename In>
void LaunchReduceOnce(cudaStream_t stream, const ReduceSizes& s, int64_t chunks, const ReduceStep& step, const In* in,
                      void* out) {
  const int64_t chunk = (s.reduce + chunks - 1) / chunks;
  const auto grid = [](int64_t blocks) {
    return static_cast<unsigned int>(std::clamp<int64_t>(blocks, 1, kMaxBlocks));
  };
  if (s.inner == 1) {
    const bool by_warp = chunk <= 1024;
    const int64_t parts = s.outer * chunks, warps = kReduceThreads / 32;
    const int64_t blocks = by_warp ? (parts + warps - 1) / warps : parts;
    ReduceRows<Op>
        <<<grid(blocks), kReduceThreads, 0, stream>>>(in, out, s.outer, s.reduce, chunk, chunks, step, by_warp);
  } else {
    const int64_t blocks = s.outer * chunks * ((s.inner + 31) / 32);
    ReduceColumns<Op><<<grid(blocks), kReduceThreads, 0, stream>>>(in, out, s, chunk, chunks, step);
  }
}

// Reduces in one launch, or in two where there are too few results to keep the GPU busy. REQUIRES: there are results.
template <typename Op, typename In>
Status LaunchReduce(Call& call, const ReduceSizes& s, const ReduceStep& step, const In* in, void* out) {
  using W = WideType<In>;
  const int64_t chunks = ReduceChunks(s);
  if (chunks == 1) {
    LaunchReduceOnce<Op>(call.stream(), s, 1, step, in, out);
    return call.Launched();
  }
  ASSIGN_OR_RETURN(Tensor partial, call.TempBytes(sizeof(W) * s.outer * chunks * s.inner));
  ReduceStep first, second = step;
  first.square = step.square;
  first.out = kDTypeOf<W>;
  second.square = false;
  LaunchReduceOnce<Op>(call.stream(), s, chunks, first, in, partial.raw());
  LaunchReduceOnce<Op>(call.stream(), {s.outer, chunks, s.inner}, 1, second, static_cast<const W*>(partial.raw()), out);
  return call.Launched();
}

struct SumOp {
  template <typename W>
  static __device__ W Identity() {
    return W(0);
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return static_cast<W>(a + b);
  }
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_REDUCE_CUH_
