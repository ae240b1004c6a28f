// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_POOL_LANES_CUH_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_POOL_LANES_CUH_

#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/pool_geometry.h"

// Max pools of images whose channels come last, 16 bytes of channels at a time. As on the CPU the first maximum of a
// window counts; nothing is greater than NaN in the first place, and NaN elsewhere is not greater than anything.

namespace millstream::cuda {

// The geometry in 32 bits.
struct PoolLanes {
  int groups;  // of channels
  int in_height, in_width, out_height, out_width;
  int window_height, window_width, stride_height, stride_width, pad_top, pad_left;
};

template <typename D>
bool HasPoolLanes(const PoolGeometry& g, const void* x, const void* y, const void* dy = nullptr) {
  return !g.channels_first && g.channels % kLanes<D> == 0 && g.inputs() < INT32_MAX && g.outputs() < INT32_MAX &&
         IsAligned(x) && IsAligned(y) && IsAligned(dy);
}

template <typename D>
PoolLanes MakePoolLanes(const PoolGeometry& g) {
  const auto n = [](int64_t v) { return static_cast<int>(v); };
  return {n(g.channels / kLanes<D>),
          n(g.in_height),
          n(g.in_width),
          n(g.out_height),
          n(g.out_width),
          n(g.window_height),
          n(g.window_width),
          n(g.stride_height),
          n(g.stride_width),
          n(g.pad_top),
          n(g.pad_left)};
}

template <typename D>
struct WindowMaximum {
  static constexpr int n = kLanes<D>;
  WideType<D> best[n];
  int at[n];  // row of the window times its width, plus column

  __device__ WindowMaximum(const PoolLanes& p, const Lanes<D, n>* in, int image, int oy, int ox, int group) {
#pragma unroll
    for (int k = 0; k < n; ++k) at[k] = -1;
    const int top = oy * p.stride_height - p.pad_top, left = ox * p.stride_width - p.pad_left;
    const int y1 = min(top + p.window_height, p.in_height), x0 = max(left, 0);
    const int x1 = min(left + p.window_width, p.in_width);
    for (int y = max(top, 0); y < y1; ++y) {
      const Lanes<D, n>* const row = in + (image * p.in_height + y) * p.in_width * p.groups + group;
      for (int x = x0; x < x1; ++x) {
        const Lanes<D, n> values = row[x * p.groups];
#pragma unroll
        for (int k = 0; k < n; ++k) {
          const auto value = Widen(values.lane[k]);
          if (at[k] < 0 || value > best[k]) {
            best[k] = value;
            at[k] = (y - top) * p.window_width + x - left;
          }
        }
      }
    }
  }
};

template <typename D>
__global__ void MaxPoolLanes(PoolLanes p, const Lanes<D, kLanes<D>>* in, Lanes<D, kLanes<D>>* out, int count) {
  constexpr int n = kLanes<D>;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int group = i % p.groups, place = i / p.groups, ox = place % p.out_width, row = place / p.out_width;
    const WindowMaximum<D> max(p, in, row / p.out_height, row % p.out_height, ox, group);
    Lanes<D, n> y;
#pragma unroll
    for (int k = 0; k < n; ++k) y.lane[k] = Narrow<D>(max.best[k]);
    out[i] = y;
  }
}

// Windows that touch but do not overlap: each thread writes the gradients below one window. Rows and columns beyond the
// last window count as windows whose gradient is zero: there are `rows` by `columns` of them for an image.
template <typename D>
__global__ void MaxPoolGradTiles(PoolLanes p, int rows, int columns, const Lanes<D, kLanes<D>>* in,
                                 const Lanes<D, kLanes<D>>* dy, Lanes<D, kLanes<D>>* dx, int count) {
  constexpr int n = kLanes<D>;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int group = i % p.groups, place = i / p.groups, ox = place % columns, oy = place / columns % rows;
    const int image = place / columns / rows;
    const bool is_window = oy < p.out_height && ox < p.out_width;
    const WindowMaximum<D> max(p, in, image, oy, ox, group);
    Lanes<D, n> grad = {};
    if (is_window) grad = dy[((image * p.out_height + oy) * p.out_width + ox) * p.groups + group];
    const int top = oy * p.stride_height - p.pad_top, left = ox * p.stride_width - p.pad_left;
    for (int y = 0; y < p.window_height; ++y) {
      if (top + y < 0 || top + y >= p.in_height) continue;
      for (int x = 0; x < p.window_width; ++x) {
        if (left + x < 0 || left + x >= p.in_width) continue;
        Lanes<D, n> part;
#pragma unroll
        for (int k = 0; k < n; ++k) part.lane[k] = max.at[k] == y * p.window_width + x ? grad.lane[k] : D(0.0f);
        dx[((image * p.in_height + top + y) * p.in_width + left + x) * p.groups + group] = part;
      }
    }
  }
}

// Windows that overlap: where the maximum of each is, and then for each input the gradients of the windows that it is
// the maximum of, always in the same order.
template <typename D>
__global__ void MaxPoolPlaces(PoolLanes p, const Lanes<D, kLanes<D>>* in, Lanes<uint8_t, kLanes<D>>* places,
                              int count) {
  constexpr int n = kLanes<D>;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int group = i % p.groups, place = i / p.groups, ox = place % p.out_width, row = place / p.out_width;
    const WindowMaximum<D> max(p, in, row / p.out_height, row % p.out_height, ox, group);
    Lanes<uint8_t, n> at;
#pragma unroll
    for (int k = 0; k < n; ++k) at.lane[k] = static_cast<uint8_t>(max.at[k]);
    places[i] = at;
  }
}

template <typename D>
__global__ void MaxPoolGradGather(PoolLanes p, const Lanes<uint8_t, kLanes<D>>* places, const Lanes<D, kLanes<D>>* dy,
                                  Lanes<D, kLanes<D>>* dx, int count) {
  constexpr int n = kLanes<D>;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int group = i % p.groups, place = i / p.groups, row = place / p.in_width;
    const int x = place % p.in_width + p.pad_left, y = row % p.in_height + p.pad_top, image = row / p.in_height;
    WideType<D> sum[n] = {};
    const int y0 = y < p.window_height ? 0 : (y - p.window_height) / p.stride_height + 1;
    const int x0 = x < p.window_width ? 0 : (x - p.window_width) / p.stride_width + 1;
    for (int oy = y0; oy < min(y / p.stride_height + 1, p.out_height); ++oy) {
      for (int ox = x0; ox < min(x / p.stride_width + 1, p.out_width); ++ox) {
        const int out = ((image * p.out_height + oy) * p.out_width + ox) * p.groups + group;
        const Lanes<uint8_t, n> at = places[out];
        const Lanes<D, n> grad = dy[out];
        const int here = (y - oy * p.stride_height) * p.window_width + x - ox * p.stride_width;
#pragma unroll
        for (int k = 0; k < n; ++k) sum[k] += at.lane[k] == here ? Widen(grad.lane[k]) : WideType<D>(0);
      }
    }
    Lanes<D, n> part;
#pragma unroll
    for (int k = 0; k < n; ++k) part.lane[k] = Narrow<D>(sum[k]);
    dx[i] = part;
  }
}

template <typename D>
Status LaunchMaxPoolLanes(Call& call, const PoolGeometry& g, const D* in, D* out) {
  using L = Lanes<D, kLanes<D>>;
  const auto count = static_cast<int>(g.outputs() / kLanes<D>);
  MaxPoolLanes<D><<<BlocksFor(count), kThreads, 0, call.stream()>>>(MakePoolLanes<D>(g), reinterpret_cast<const L*>(in),
                                                                    reinterpret_cast<L*>(out), count);
  return call.Launched();
}

// Whether LaunchMaxPoolGradLanes() serves windows of these sizes.
inline bool HasGradLanes(const PoolGeometry& g) {
  const bool touch = g.stride_height == g.window_height && g.stride_width == g.window_width;
  return touch || g.window_height * g.window_width <= 256;
}

template <typename D>
Status LaunchMaxPoolGradLanes(Call& call, const PoolGeometry& g, const D* in, const D* dy, D* dx) {
  using L = Lanes<D, kLanes<D>>;
  const PoolLanes p = MakePoolLanes<D>(g);
  const auto *x = reinterpret_cast<const L*>(in), *grad = reinterpret_cast<const L*>(dy);
  auto* const to = reinterpret_cast<L*>(dx);
  if (g.stride_height == g.window_height && g.stride_width == g.window_width) {
    const int rows = (p.in_height + p.pad_top + p.stride_height - 1) / p.stride_height;
    const int columns = (p.in_width + p.pad_left + p.stride_width - 1) / p.stride_width;
    const int64_t count = g.batch * rows * columns * p.groups;
    MaxPoolGradTiles<D>
        <<<BlocksFor(count), kThreads, 0, call.stream()>>>(p, rows, columns, x, grad, to, static_cast<int>(count));
    return call.Launched();
  }
  ASSIGN_OR_RETURN(Tensor places, call.TempBytes(static_cast<size_t>(g.outputs())));
  auto* const at = static_cast<Lanes<uint8_t, kLanes<D>>*>(places.raw());
  const auto outputs = static_cast<int>(g.outputs() / kLanes<D>), inputs = static_cast<int>(g.inputs() / kLanes<D>);
  MaxPoolPlaces<D><<<BlocksFor(outputs), kThreads, 0, call.stream()>>>(p, x, at, outputs);
  MaxPoolGradGather<D><<<BlocksFor(inputs), kThreads, 0, call.stream()>>>(p, at, grad, to, inputs);
  return call.Launched();
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_POOL_LANES_CUH_
