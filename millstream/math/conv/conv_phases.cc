// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/math/conv/conv_implicit.h"
#include "millstream/math/gemm/gemm_pack.h"
#include "millstream/math/gemm/gemm_scratch.h"

namespace millstream::math {
namespace {

// One axis of a phase: input positions phase, phase + stride ... and the taps first, first + stride ... of the filter,
// the last of which comes first in the filter of the convolution.
struct AxisPhase {
  int64_t phase, size, first, taps, pad;
};

AxisPhase MakeAxis(int64_t phase, int64_t input, int64_t filter, int64_t stride, int64_t pad) {
  AxisPhase a{phase, (input - phase + stride - 1) / stride, (phase + pad) % stride, 0, 0};
  a.taps = a.first < filter ? (filter - a.first + stride - 1) / stride : 0;
  a.pad = a.taps - 1 - (phase + pad - a.first) / stride;
  return a;
}
AxisPhase Vertical(const ConvShape& s, int64_t phase) {
  return MakeAxis(phase, s.in_height, s.filter_height, s.stride_height, s.pad_top);
}
AxisPhase Horizontal(const ConvShape& s, int64_t phase) {
  return MakeAxis(phase, s.in_width, s.filter_width, s.stride_width, s.pad_left);
}

ConvShape PhaseShape(const ConvShape& s, const AxisPhase& y, const AxisPhase& x) {
  ConvShape p;
  p.batch = s.batch;
  p.in_height = s.out_height, p.in_width = s.out_width, p.in_channels = s.out_channels;
  p.filter_height = y.taps, p.filter_width = x.taps;
  p.out_height = y.size, p.out_width = x.size, p.out_channels = s.in_channels;
  p.pad_top = y.pad, p.pad_left = x.pad;
  return p;
}

template <typename T>
const T* PhaseFilter(const ConvShape& s, const AxisPhase& y, const AxisPhase& x, const T* filter) {
  const int64_t tap_size = s.in_channels * s.out_channels;
  T* turned = ThreadScratchFor<T>(Scratch::kTurnedFilter, y.taps * x.taps * tap_size);
  T* to = turned;
  for (int64_t i = y.taps - 1; i >= 0; --i) {
    for (int64_t j = x.taps - 1; j >= 0; --j, to += tap_size) {
      const int64_t tap = (y.first + i * s.stride_height) * s.filter_width + x.first + j * s.stride_width;
      TransposePanel(filter + tap * tap_size, s.out_channels, s.in_channels, s.out_channels, to, s.in_channels,
                     s.in_channels);
    }
  }
  return turned;
}

// Pixels that no tap reads.
template <typename T>
void ZeroPhase(const ConvShape& s, const AxisPhase& y, const AxisPhase& x, T* pixels, const OutputSteps& steps) {
  for (int64_t i = 0; i < s.batch * y.size; ++i) {
    T* line = pixels + i / y.size * steps.image + i % y.size * steps.line;
    for (int64_t j = 0; j < x.size; ++j) std::fill_n(line + j * steps.pixel, s.in_channels, T(0));
  }
}

// Calls fn(vertical, horizontal) for all phases that have pixels.
template <typename Fn>
void ForEachPhase(const ConvShape& s, Fn fn) {
  for (int64_t py = 0; py < std::min(s.stride_height, s.in_height); ++py) {
    for (int64_t px = 0; px < std::min(s.stride_width, s.in_width); ++px) fn(Vertical(s, py), Horizontal(s, px));
  }
}

}  // namespace

bool PhasedInputGradFits(const ConvShape& s) {
  if (s.groups != 1 || s.dilation_height != 1 || s.dilation_width != 1) return false;
  bool fits = true;
  ForEachPhase(s, [&](const AxisPhase& y, const AxisPhase& x) {
    fits = fits && (y.taps == 0 || x.taps == 0 || ImplicitConvFits(PhaseShape(s, y, x)));
  });
  return fits;
}

template <typename T>
void PhasedInputGrad(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool) {
  const int64_t line = s.in_width * s.in_channels;
  const OutputSteps steps{s.stride_width * s.in_channels, s.stride_height * line, s.in_height * line};
  ForEachPhase(s, [&](const AxisPhase& y, const AxisPhase& x) {
    T* pixels = in_grad + y.phase * line + x.phase * s.in_channels;
    if (y.taps == 0 || x.taps == 0) return ZeroPhase(s, y, x, pixels, steps);
    ImplicitConv(PhaseShape(s, y, x), out_grad, PhaseFilter(s, y, x, filter), pixels, steps, ConvEpilogue<T>(), pool);
  });
}

template void PhasedInputGrad(const ConvShape&, const float*, const float*, float*, ThreadPool*);
template void PhasedInputGrad(const ConvShape&, const double*, const double*, double*, ThreadPool*);

}  // namespace millstream::math
