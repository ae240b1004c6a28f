// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/conv_layout.h"
#include "millstream/devices/cuda/locate.cuh"

namespace millstream::cuda {
namespace {

// `to[o, ...]` from `from[h, w, i, o]`, or back.
template <typename B, bool kBack>
__global__ void TurnFilter(const B* from, B* to, int64_t taps, int64_t in, int64_t out, bool channels_first) {
  CUDA_FOR_EACH(i, taps * in * out) {
    int64_t tap = i;
    const int64_t o = TakeDim(&tap, out), c = TakeDim(&tap, in);
    const int64_t cudnn = channels_first ? (o * in + c) * taps + tap : (o * taps + tap) * in + c;
    if constexpr (kBack) {
      to[i] = from[cudnn];
    } else {
      to[cudnn] = from[i];
    }
  }
}

// `to[i, ...]` from `from[h, w, i, o]`, the last tap first.
template <typename B>
__global__ void MirrorAll(const B* from, B* to, int64_t taps, int64_t in, int64_t out, bool channels_first) {
  CUDA_FOR_EACH(i, taps * in * out) {
    int64_t rest = i;
    const int64_t o = TakeDim(&rest, out), c = TakeDim(&rest, in), tap = taps - 1 - rest;
    to[channels_first ? (c * out + o) * taps + tap : (c * taps + tap) * out + o] = from[i];
  }
}

// Calls fn with an unsigned integer of the same size as elements of the type.
template <typename Fn>
void WithBits(DType dtype, Fn fn) {
  switch (DTypeSize(dtype)) {
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    default:
      return fn(uint64_t{});
  }
}

template <bool kBack>
Status Turn(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& from, Tensor* to) {
  const int64_t taps = s.filter_height * s.filter_width, in = s.in_group(), out = s.out_channels;
  const auto launch = [&](auto bits) {
    using B = decltype(bits);
    TurnFilter<B, kBack><<<BlocksFor(taps * in * out), kThreads, 0, call.stream()>>>(
        static_cast<const B*>(from.raw()), static_cast<B*>(to->raw()), taps, in, out, channels_first);
  };
  WithBits(from.dtype(), launch);
  return call.Launched();
}

template <typename B, bool kBack>
__global__ void PadOrCrop(PaddedImages p, const B* from, B* to) {
  const int64_t count =
      kBack ? p.outer * p.height * p.width * p.inner : p.outer * p.padded_height * p.padded_width * p.inner;
  const int64_t width = kBack ? p.width : p.padded_width, height = kBack ? p.height : p.padded_height;
  CUDA_FOR_EACH(i, count) {
    int64_t outer = i;
    const int64_t c = TakeDim(&outer, p.inner), x = TakeDim(&outer, width), y = TakeDim(&outer, height);
    if constexpr (kBack) {
      to[i] = from[((outer * p.padded_height + y + p.top) * p.padded_width + x + p.left) * p.inner + c];
    } else {
      const int64_t sy = y - p.top, sx = x - p.left;
      const bool inside = sy >= 0 && sy < p.height && sx >= 0 && sx < p.width;
      to[i] = inside ? from[((outer * p.height + sy) * p.width + sx) * p.inner + c] : B{};
    }
  }
}

template <bool kBack>
Status Repad(Call& call, const PaddedImages& p, const Tensor& from, Tensor* to) {
  const auto launch = [&](auto bits) {
    using B = decltype(bits);
    PadOrCrop<B, kBack><<<BlocksFor(to->num_elements()), kThreads, 0, call.stream()>>>(
        p, static_cast<const B*>(from.raw()), static_cast<B*>(to->raw()));
  };
  WithBits(from.dtype(), launch);
  return call.Launched();
}

}  // namespace

Status FilterToCudnn(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& filter, Tensor* to) {
  return Turn<false>(call, s, channels_first, filter, to);
}
Status FilterFromCudnn(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& from, Tensor* filter) {
  return Turn<true>(call, s, channels_first, from, filter);
}
Status MirrorFilter(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& filter, Tensor* to) {
  const int64_t taps = s.filter_height * s.filter_width, in = s.in_group(), out = s.out_channels;
  WithBits(filter.dtype(), [&](auto bits) {
    using B = decltype(bits);
    MirrorAll<<<BlocksFor(taps * in * out), kThreads, 0, call.stream()>>>(
        static_cast<const B*>(filter.raw()), static_cast<B*>(to->raw()), taps, in, out, channels_first);
  });
  return call.Launched();
}
Status PadImages(Call& call, const PaddedImages& p, const Tensor& from, Tensor* to) {
  return Repad<false>(call, p, from, to);
}
Status CropImages(Call& call, const PaddedImages& p, const Tensor& from, Tensor* to) {
  return Repad<true>(call, p, from, to);
}

}  // namespace millstream::cuda
