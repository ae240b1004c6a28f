// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/conv_direct.h"
#include "millstream/devices/cuda/locate.cuh"

namespace millstream::cuda {
namespace {

// Images [batch, height, width, channels], in either layout.
struct ConvImages {
  int64_t height, width, channels;
  bool channels_first;
  __device__ int64_t At(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return channels_first ? ((n * channels + c) * height + y) * width + x
                          : ((n * height + y) * width + x) * channels + c;
  }
};

struct ConvPlace {
  int64_t n, y, x, c;
  __device__ ConvPlace(const ConvImages& images, int64_t i) {
    if (!images.channels_first) c = TakeDim(&i, images.channels);
    x = TakeDim(&i, images.width);
    y = TakeDim(&i, images.height);
    if (images.channels_first) c = TakeDim(&i, images.channels);
    n = i;
  }
};

__global__ void DirectForwardAll(math::ConvShape s, ConvImages in, ConvImages out, const double* x, const double* w,
                                 double* y, int64_t count) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  CUDA_FOR_EACH(i, count) {
    const ConvPlace p(out, i);
    const int64_t first = p.c / out_group * in_group;
    double sum = 0;
    for (int64_t ky = 0; ky < s.filter_height; ++ky) {
      const int64_t iy = p.y * s.stride_height + ky * s.dilation_height - s.pad_top;
      if (iy < 0 || iy >= s.in_height) continue;
      for (int64_t kx = 0; kx < s.filter_width; ++kx) {
        const int64_t ix = p.x * s.stride_width + kx * s.dilation_width - s.pad_left;
        if (ix < 0 || ix >= s.in_width) continue;
        const double* const taps = w + (ky * s.filter_width + kx) * in_group * s.out_channels + p.c;
        for (int64_t c = 0; c < in_group; ++c) sum += x[in.At(p.n, iy, ix, first + c)] * taps[c * s.out_channels];
      }
    }
    y[i] = sum;
  }
}

__global__ void DirectBackwardInputAll(math::ConvShape s, ConvImages in, ConvImages out, const double* w,
                                       const double* dy, double* dx, int64_t count) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  CUDA_FOR_EACH(i, count) {
    const ConvPlace p(in, i);
    const int64_t first = p.c / in_group * out_group, c = p.c % in_group;
    double sum = 0;
    for (int64_t ky = 0; ky < s.filter_height; ++ky) {
      const int64_t oy = p.y + s.pad_top - ky * s.dilation_height;
      if (oy < 0 || oy % s.stride_height != 0 || oy / s.stride_height >= s.out_height) continue;
      for (int64_t kx = 0; kx < s.filter_width; ++kx) {
        const int64_t ox = p.x + s.pad_left - kx * s.dilation_width;
        if (ox < 0 || ox % s.stride_width != 0 || ox / s.stride_width >= s.out_width) continue;
        const double* const taps = w + ((ky * s.filter_width + kx) * in_group + c) * s.out_channels + first;
        for (int64_t k = 0; k < out_group; ++k) {
          sum += taps[k] * dy[out.At(p.n, oy / s.stride_height, ox / s.stride_width, first + k)];
        }
      }
    }
    dx[i] = sum;
  }
}

// One block for each element of the filter.
__global__ void DirectBackwardFilterAll(math::ConvShape s, ConvImages in, ConvImages out, const double* x,
                                        const double* dy, double* dw) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  int64_t rest = blockIdx.x;
  const int64_t k = TakeDim(&rest, s.out_channels), c = TakeDim(&rest, in_group) + k / out_group * in_group;
  const int64_t kx = TakeDim(&rest, s.filter_width), ky = rest;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < s.batch * s.out_height * s.out_width; i += kThreads) {
    int64_t n = i;
    const int64_t ox = TakeDim(&n, s.out_width), oy = TakeDim(&n, s.out_height);
    const int64_t iy = oy * s.stride_height + ky * s.dilation_height - s.pad_top;
    const int64_t ix = ox * s.stride_width + kx * s.dilation_width - s.pad_left;
    if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
    sum += x[in.At(n, iy, ix, c)] * dy[out.At(n, oy, ox, k)];
  }
  __shared__ double partial[kThreads];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) dw[blockIdx.x] = partial[0];
}

ConvImages InputImages(const math::ConvShape& s, bool channels_first) {
  return {s.in_height, s.in_width, s.in_channels, channels_first};
}
ConvImages OutputImages(const math::ConvShape& s, bool channels_first) {
  return {s.out_height, s.out_width, s.out_channels, channels_first};
}
const double* Doubles(const Tensor& t) { return static_cast<const double*>(t.raw()); }

}  // namespace

Status DirectForward(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& x, const Tensor& w,
                     Tensor* y) {
  const int64_t count = y->num_elements();
  DirectForwardAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(s, InputImages(s, channels_first),
                                                                     OutputImages(s, channels_first), Doubles(x),
                                                                     Doubles(w), static_cast<double*>(y->raw()), count);
  return call.Launched();
}

Status DirectBackwardInput(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& w, const Tensor& dy,
                           Tensor* dx) {
  const int64_t count = dx->num_elements();
  DirectBackwardInputAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
      s, InputImages(s, channels_first), OutputImages(s, channels_first), Doubles(w), Doubles(dy),
      static_cast<double*>(dx->raw()), count);
  return call.Launched();
}

Status DirectBackwardFilter(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& x,
                            const Tensor& dy, Tensor* dw) {
  DirectBackwardFilterAll<<<static_cast<unsigned int>(dw->num_elements()), kThreads, 0, call.stream()>>>(
      s, InputImages(s, channels_first), OutputImages(s, channels_first), Doubles(x), Doubles(dy),
      static_cast<double*>(dw->raw()));
  return call.Launched();
}

}  // namespace millstream::cuda
