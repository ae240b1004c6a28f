// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/conv_direct.h"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/devices/cuda/reduce.h"

namespace millstream::cuda {
namespace {

constexpr int kPixels = 4;    // neighbours in a row that a thread computes
constexpr int kChannels = 4;  // output channels that a thread computes
constexpr int64_t kMaxShared = 40 << 10;
constexpr int64_t kMaxFilterThreads = 1024;
constexpr int64_t kMaxFilterBlocks = 132 * 2;
using Four = Lanes<float, 4>;

// The same numbers in 32 bits, and what follows from them.
struct FewChannels {
  int in_height, in_width, in_channels, filter_height, filter_width, out_height, out_width, out_channels;
  int stride_height, stride_width, dilation_height, dilation_width, pad_top, pad_left;
  int column_groups;  // groups of pixels in a row
  int channel_groups;
};

FewChannels Narrowed(const math::ConvShape& s) {
  const auto n = [](int64_t v) { return static_cast<int>(v); };
  return {n(s.in_height),
          n(s.in_width),
          n(s.in_channels),
          n(s.filter_height),
          n(s.filter_width),
          n(s.out_height),
          n(s.out_width),
          n(s.out_channels),
          n(s.stride_height),
          n(s.stride_width),
          n(s.dilation_height),
          n(s.dilation_width),
          n(s.pad_top),
          n(s.pad_left),
          n((s.out_width + kPixels - 1) / kPixels),
          n(s.out_channels / kChannels)};
}

__device__ __forceinline__ float Activated(float v, math::Activation activation) {
  if (activation != math::Activation::kNone && v < 0.0f) v = 0;
  if (activation == math::Activation::kRelu6 && v > 6.0f) v = 6;
  return v;
}

// The sums of kPixels pixels over one row of the filter, which begins at `tap`; `row` is null outside of the image.
// kWidth: width of the filter where strides, dilations and channels are 1, so that pixels are read once; 0: any.
template <int kWidth>
__device__ __forceinline__ void AddFilterRow(const FewChannels& s, const float* row, int ox, const Four* tap,
                                             Four (&sums)[kPixels]) {
  const int left = ox * s.stride_width - s.pad_left;
  const auto pixel = [&](int at, int c) {
    return row != nullptr && at >= 0 && at < s.in_width ? row[at * s.in_channels + c] : 0.0f;
  };
  const auto add = [&](int p, float v, const Four& f) {
#pragma unroll
    for (int j = 0; j < kChannels; ++j) sums[p].lane[j] += v * f.lane[j];
  };
  if constexpr (kWidth > 0) {
    float seen[kPixels + kWidth - 1];
#pragma unroll
    for (int i = 0; i < kPixels + kWidth - 1; ++i) seen[i] = pixel(left + i, 0);
#pragma unroll
    for (int kx = 0; kx < kWidth; ++kx) {
      const Four f = tap[kx * s.channel_groups];
#pragma unroll
      for (int p = 0; p < kPixels; ++p) add(p, seen[p + kx], f);
    }
  } else {
    for (int kx = 0; kx < s.filter_width; ++kx) {
      for (int c = 0; c < s.in_channels; ++c, tap += s.channel_groups) {
        const Four f = *tap;
#pragma unroll
        for (int p = 0; p < kPixels; ++p) add(p, pixel(left + kx * s.dilation_width + p * s.stride_width, c), f);
      }
    }
  }
}

template <int kWidth>
__global__ void FewChannelsForwardAll(FewChannels s, const float* x, const float* w, const float* bias,
                                      math::Activation activation, float* y, int count) {
  extern __shared__ float4 filter_memory[];
  auto* const filter = reinterpret_cast<Four*>(filter_memory);
  const int filter_row = s.filter_width * s.in_channels * s.channel_groups;
  for (int i = threadIdx.x; i < s.filter_height * filter_row; i += blockDim.x) {
    filter[i] = reinterpret_cast<const Four*>(w)[i];
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int k = i % s.channel_groups;
    int rest = i / s.channel_groups;
    const int ox = rest % s.column_groups * kPixels;
    rest /= s.column_groups;
    const int oy = rest % s.out_height, n = rest / s.out_height;
    Four sums[kPixels] = {};
    if (bias != nullptr) {
      const Four b = reinterpret_cast<const Four*>(bias)[k];
#pragma unroll
      for (int p = 0; p < kPixels; ++p) sums[p] = b;
    }
    for (int ky = 0; ky < s.filter_height; ++ky) {
      const int iy = oy * s.stride_height + ky * s.dilation_height - s.pad_top;
      const float* const row = x + (static_cast<int64_t>(n) * s.in_height + iy) * s.in_width * s.in_channels;
      AddFilterRow<kWidth>(s, iy >= 0 && iy < s.in_height ? row : nullptr, ox, filter + ky * filter_row + k, sums);
    }
    auto* const to = reinterpret_cast<Four*>(y) +
                     ((static_cast<int64_t>(n) * s.out_height + oy) * s.out_width + ox) * s.channel_groups + k;
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      if (ox + p >= s.out_width) break;
#pragma unroll
      for (int j = 0; j < kChannels; ++j) sums[p].lane[j] = Activated(sums[p].lane[j], activation);
      to[p * s.channel_groups] = sums[p];
    }
  }
}

// What a row of the output sees of the images: filter_height rows of this many pixels.
__host__ __device__ inline int64_t SeenWidth(int64_t out_width, int64_t stride, int64_t window, int64_t dilation) {
  return (out_width - 1) * stride + (window - 1) * dilation + 1;
}

// A thread for each tap and four output channels; a block adds up some rows of the output. sums: [blocks, filter].
__global__ void FewChannelsFilterSums(FewChannels s, const float* x, const float* dy, float* sums, int rows) {
  extern __shared__ float4 rows_memory[];
  auto* const grads = reinterpret_cast<Four*>(rows_memory);  // [out_width, channel_groups]
  auto* const seen = reinterpret_cast<float*>(grads + s.out_width * s.channel_groups);
  const int seen_width =
      static_cast<int>(SeenWidth(s.out_width, s.stride_width, s.filter_width, s.dilation_width)) * s.in_channels;
  const int items = s.filter_height * s.filter_width * s.in_channels * s.channel_groups;
  const int k = threadIdx.x % s.channel_groups;
  int rest = threadIdx.x / s.channel_groups;
  const int c = rest % s.in_channels;
  rest /= s.in_channels;
  const int kx = rest % s.filter_width, ky = rest / s.filter_width;
  Four sum = {};
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const int oy = r % s.out_height, n = r / s.out_height;
    __syncthreads();
    for (int i = threadIdx.x; i < s.out_width * s.channel_groups; i += blockDim.x) {
      grads[i] = reinterpret_cast<const Four*>(dy)[static_cast<int64_t>(r) * s.out_width * s.channel_groups + i];
    }
    for (int i = threadIdx.x; i < s.filter_height * seen_width; i += blockDim.x) {
      const int iy = oy * s.stride_height + i / seen_width * s.dilation_height - s.pad_top;
      const int at = i % seen_width - s.pad_left * s.in_channels;
      const bool inside = iy >= 0 && iy < s.in_height && at >= 0 && at < s.in_width * s.in_channels;
      seen[i] = inside ? x[(static_cast<int64_t>(n) * s.in_height + iy) * s.in_width * s.in_channels + at] : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x < items) {
      const float* const from = seen + ky * seen_width + kx * s.dilation_width * s.in_channels + c;
#pragma unroll 4
      for (int ox = 0; ox < s.out_width; ++ox) {
        const float v = from[ox * s.stride_width * s.in_channels];
        const Four g = grads[ox * s.channel_groups + k];
#pragma unroll
        for (int j = 0; j < kChannels; ++j) sum.lane[j] += v * g.lane[j];
      }
    }
  }
  if (threadIdx.x < items) reinterpret_cast<Four*>(sums)[static_cast<int64_t>(blockIdx.x) * items + threadIdx.x] = sum;
}

int64_t FilterSharedBytes(const math::ConvShape& s) {
  const int64_t seen = SeenWidth(s.out_width, s.stride_width, s.filter_width, s.dilation_width) * s.in_channels;
  return (s.out_width * s.out_channels + s.filter_height * seen) * static_cast<int64_t>(sizeof(float));
}

}  // namespace

bool HasFewChannels(const math::ConvShape& s, DType dtype, bool channels_first) {
  return dtype == DType::kFloat && !channels_first && s.groups == 1 && s.in_channels <= 2 &&
         s.out_channels % kChannels == 0 && s.input_size() < INT32_MAX && s.output_size() < INT32_MAX &&
         s.filter_size() / kChannels <= kMaxFilterThreads && FilterSharedBytes(s) <= kMaxShared;
}

Status FewChannelsForward(Call& call, const math::ConvShape& s, const Tensor& x, const Tensor& w,
                          const ConvFollowers& followers, Tensor* y) {
  const FewChannels few = Narrowed(s);
  const int64_t count = s.batch * s.out_height * few.column_groups * few.channel_groups;
  const auto* const bias = followers.bias == nullptr ? nullptr : static_cast<const float*>(followers.bias->raw());
  const bool plain = s.stride_height == 1 && s.stride_width == 1 && s.dilation_height == 1 && s.dilation_width == 1;
  const int width = plain && s.in_channels == 1 ? few.filter_width : 0;
  const auto launch = [&](auto kernel) {
    kernel<<<BlocksFor(count), kThreads, w.ByteSize(), call.stream()>>>(
        few, static_cast<const float*>(x.raw()), static_cast<const float*>(w.raw()), bias, followers.activation,
        static_cast<float*>(y->raw()), static_cast<int>(count));
  };
  launch(width == 5 ? FewChannelsForwardAll<5> : width == 3 ? FewChannelsForwardAll<3> : FewChannelsForwardAll<0>);
  return call.Launched();
}

Status FewChannelsBackwardFilter(Call& call, const math::ConvShape& s, const Tensor& x, const Tensor& dy, Tensor* dw) {
  const int64_t rows = s.batch * s.out_height, threads = (dw->num_elements() / kChannels + 31) / 32 * 32;
  const int64_t blocks = std::min(rows, kMaxFilterBlocks);
  ASSIGN_OR_RETURN(Tensor sums, call.Temp(DType::kFloat, Shape({blocks, dw->num_elements()})));
  FewChannelsFilterSums<<<static_cast<unsigned int>(blocks), static_cast<unsigned int>(threads),
                          static_cast<size_t>(FilterSharedBytes(s)), call.stream()>>>(
      Narrowed(s), static_cast<const float*>(x.raw()), static_cast<const float*>(dy.raw()),
      static_cast<float*>(sums.raw()), static_cast<int>(rows));
  RETURN_IF_ERROR(call.Launched());
  return ReduceSum(call, DType::kFloat, {1, blocks, dw->num_elements()}, {.out = DType::kFloat}, sums.raw(), dw->raw());
}

}  // namespace millstream::cuda
