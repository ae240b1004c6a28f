// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_DEPTHWISE_VECTORS_H_
#define MILLSTREAM_OPS_NN_DEPTHWISE_VECTORS_H_

#include <cstdint>
#include <vector>

namespace millstream {

// The loops of depthwise convolutions with one output channel per input channel and unit strides, over one line of
// pixels. On this thread, for float and double.

// One tap of a filter: what it reads for the first pixel, and its weights.
template <typename T>
struct Tap {
  const T* x;
  const T* w;
};
// The same where its weights are summed up.
template <typename T>
struct SummedTap {
  const T* x;
  T* w;
};

// How the weights of a tap lie in memory. Numbers of channels that do not fill vectors are repeated, so that a vector
// may span several pixels.
struct TapLayout {
  explicit TapLayout(int64_t channels);
  bool repeated() const { return period > 0; }
  // For `n` of the channels, of weights that lie as before. REQUIRES: not repeated.
  TapLayout Part(int64_t n) const {
    TapLayout part = *this;
    part.channels = n;
    return part;
  }

  int64_t channels;
  int64_t period = 0;  // 0: not repeated; otherwise a multiple of `channels`
  int64_t row;         // elements of a tap
};

// `taps` rows of weights in that layout.
template <typename T>
std::vector<T> LayOutTaps(const TapLayout& layout, const T* weights, int64_t taps);
// The reverse for sums: adds what belongs to each channel of each tap to `totals`.
template <typename T>
void AddTaps(const TapLayout& layout, const T* rows, int64_t taps, double* totals);

// out[i] = sum over the taps of x[i] * w[channel of i], for all channels of `pixels` pixels, which lie `x_step` and
// `out_step` elements apart. REQUIRES: with repeated weights these are the number of channels.
template <typename T>
void SumTaps(const TapLayout& layout, const std::vector<Tap<T>>& taps, int64_t pixels, int64_t x_step, int64_t out_step,
             T* out);

// w[channel of i] += x[i] * grad[i] for each tap and all channels of `pixels` pixels, which lie `x_step` elements apart
// in x and `grad_step` in grad. REQUIRES: with repeated weights both are the number of channels.
template <typename T>
void AddTapProducts(const TapLayout& layout, const std::vector<SummedTap<T>>& taps, int64_t pixels, int64_t x_step,
                    int64_t grad_step, const T* grad);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_DEPTHWISE_VECTORS_H_
