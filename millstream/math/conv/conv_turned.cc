// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv_turned.h"

#include "millstream/math/gemm/gemm_pack.h"

namespace millstream::math {

ConvShape TurnedShape(const ConvShape& s) {
  ConvShape t = s;
  t.in_height = s.out_height, t.in_width = s.out_width, t.in_channels = s.out_channels;
  t.out_height = s.in_height, t.out_width = s.in_width, t.out_channels = s.in_channels;
  t.pad_top = (s.filter_height - 1) * s.dilation_height - s.pad_top;
  t.pad_left = (s.filter_width - 1) * s.dilation_width - s.pad_left;
  return t;
}

template <typename T>
void TurnFilter(const ConvShape& s, const T* filter, T* turned) {
  const int64_t taps = s.filter_height * s.filter_width, in = s.in_group(), out = s.out_group();
  for (int64_t tap = 0; tap < taps; ++tap) {
    const T* from = filter + tap * in * s.out_channels;
    T* to = turned + (taps - 1 - tap) * out * s.in_channels;
    for (int64_t group = 0; group < s.groups; ++group) {
      TransposePanel(from + group * out, s.out_channels, in, out, to + group * in, s.in_channels, in);
    }
  }
}

template void TurnFilter(const ConvShape&, const float*, float*);
template void TurnFilter(const ConvShape&, const double*, double*);

}  // namespace millstream::math
