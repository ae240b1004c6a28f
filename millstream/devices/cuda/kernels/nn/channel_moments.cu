// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/channel_moments.h"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

constexpr int kMomentColumns = 8, kMomentRows = 32;  // groups of channels and rows of a block
constexpr int64_t kBlocksWanted = 132 * 8;
constexpr int64_t kRowsOfThread = 4;  // at least, before work is shared by more blocks

// What is added up for a value: x (and its gradient, if kProducts) of a channel with mean, or first value, `center`.
template <bool kProducts>
__device__ __forceinline__ void AddTo(float* first, float* second, float x, float dy, float center) {
  if constexpr (kProducts) {
    *first += dy;
    *second += dy * (x - center);
  } else {
    *first += x - center;
    *second += (x - center) * (x - center);
  }
}

// Channels come last: x is [rows, channels]. Block (i, j) adds up rows [j * each, ...) of kMomentColumns groups of n
// channels. center: null for the first row of x.
template <typename D, int n, bool kProducts>
__global__ void SumRowsOfChannels(const D* x, const D* dy, const float* center, float* sums, int64_t rows,
                                  int64_t channels, int64_t each) {
  using L = Lanes<D, n>;
  const int64_t groups = channels / n, group = blockIdx.x * static_cast<int64_t>(kMomentColumns) + threadIdx.x;
  float first[n] = {}, second[n] = {}, middle[n] = {};
  if (group < groups) {
#pragma unroll
    for (int k = 0; k < n; ++k) middle[k] = kProducts ? center[group * n + k] : Widen(x[group * n + k]);
    const int64_t end = min(rows, (blockIdx.y + 1) * each);
    for (int64_t r = blockIdx.y * each + threadIdx.y; r < end; r += kMomentRows) {
      const L values = reinterpret_cast<const L*>(x)[r * groups + group];
      L grads = {};
      if constexpr (kProducts) grads = reinterpret_cast<const L*>(dy)[r * groups + group];
#pragma unroll
      for (int k = 0; k < n; ++k) {
        AddTo<kProducts>(&first[k], &second[k], Widen(values.lane[k]), Widen(grads.lane[k]), middle[k]);
      }
    }
  }
  __shared__ float partial[kMomentRows][kMomentColumns * n];
  for (int which = 0; which < 2; ++which) {
#pragma unroll
    for (int k = 0; k < n; ++k) partial[threadIdx.y][threadIdx.x * n + k] = which == 0 ? first[k] : second[k];
    __syncthreads();
    const int column = threadIdx.y * kMomentColumns + threadIdx.x;
    const int64_t c = blockIdx.x * static_cast<int64_t>(kMomentColumns * n) + column;
    if (column < kMomentColumns * n && c < channels) {
      float sum = 0;
      for (int r = 0; r < kMomentRows; ++r) sum += partial[r][column];
      sums[(blockIdx.y * 2 + which) * channels + c] = sum;
    }
    __syncthreads();
  }
}

// Channels come first: block (c, j) adds up values [j * each, ...) of channel c.
template <typename D, bool kProducts>
__global__ void SumPlanesOfChannels(const D* x, const D* dy, const float* center, float* sums, NormView v,
                                    int64_t each) {
  const int64_t c = blockIdx.x, end = min(v.outer * v.inner, (blockIdx.y + 1) * each);
  const float middle = kProducts ? center[c] : Widen(x[c * v.inner]);
  float first = 0, second = 0;
  for (int64_t i = blockIdx.y * each + threadIdx.x; i < end; i += kThreads) {
    int64_t image = i;
    const int64_t within = TakeDim(&image, v.inner), at = (image * v.channels + c) * v.inner + within;
    AddTo<kProducts>(&first, &second, Widen(x[at]), kProducts ? Widen(dy[at]) : 0.0f, middle);
  }
  __shared__ float partial[2][kThreads];
  partial[0][threadIdx.x] = first;
  partial[1][threadIdx.x] = second;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[0][threadIdx.x] += partial[0][threadIdx.x + half];
      partial[1][threadIdx.x] += partial[1][threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x < 2) sums[(blockIdx.y * 2 + threadIdx.x) * v.channels + c] = partial[threadIdx.x][0];
}

int64_t PartsFor(int64_t places, int64_t columns, int64_t places_of_block) {
  const int64_t most = (places + places_of_block - 1) / places_of_block;
  return std::clamp<int64_t>(kBlocksWanted / columns, 1, std::max<int64_t>(most, 1));
}

template <typename D, int n, bool kProducts>
void LaunchRows(Call& call, const NormView& v, const D* x, const D* dy, const float* center, float* sums,
                int64_t parts) {
  const int64_t columns = (v.channels / n + kMomentColumns - 1) / kMomentColumns;
  SumRowsOfChannels<D, n, kProducts>
      <<<dim3(static_cast<unsigned int>(columns), static_cast<unsigned int>(parts)), dim3(kMomentColumns, kMomentRows),
         0, call.stream()>>>(x, dy, center, sums, v.outer, v.channels, (v.outer + parts - 1) / parts);
}

template <bool kProducts>
StatusOr<ChannelSums> Launch(Call& call, const NormView& v, const Tensor& x, const void* dy, const float* center) {
  ChannelSums result;
  const bool last = v.inner == 1;
  const auto width = static_cast<int64_t>(16 / DTypeSize(x.dtype()));
  const bool lanes = last && v.channels % width == 0 && IsAligned(x.raw()) && IsAligned(dy);
  if (last) {
    const int64_t of_block = kMomentColumns * (lanes ? width : 1), columns = (v.channels + of_block - 1) / of_block;
    result.parts = PartsFor(v.outer, columns, kMomentRows * kRowsOfThread);
  } else {
    result.parts = PartsFor(v.places(), v.channels, kThreads * kRowsOfThread);
  }
  ASSIGN_OR_RETURN(result.sums, call.Temp(DType::kFloat, Shape({result.parts, 2, v.channels})));
  auto* const sums = static_cast<float*>(result.sums.raw());
  DispatchOver(Types<Half, BFloat16, float>{}, x.dtype(), [&](auto tag) {
    using D = DeviceType<typename decltype(tag)::type>;
    const auto *from = static_cast<const D*>(x.raw()), *grads = static_cast<const D*>(dy);
    if (lanes) {
      LaunchRows<D, kLanes<D>, kProducts>(call, v, from, grads, center, sums, result.parts);
    } else if (last) {
      LaunchRows<D, 1, kProducts>(call, v, from, grads, center, sums, result.parts);
    } else {
      SumPlanesOfChannels<D, kProducts>
          <<<dim3(static_cast<unsigned int>(v.channels), static_cast<unsigned int>(result.parts)), kThreads, 0,
             call.stream()>>>(from, grads, center, sums, v, (v.places() + result.parts - 1) / result.parts);
    }
  });
  RETURN_IF_ERROR(call.Launched());
  return result;
}

}  // namespace

StatusOr<ChannelSums> SumChannelMoments(Call& call, const NormView& v, const Tensor& x) {
  return Launch<false>(call, v, x, nullptr, nullptr);
}
StatusOr<ChannelSums> SumChannelProducts(Call& call, const NormView& v, const Tensor& x, const Tensor& dy,
                                         const Tensor& mean) {
  return Launch<true>(call, v, x, dy.raw(), static_cast<const float*>(mean.raw()));
}

}  // namespace millstream::cuda
