// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_CHANNEL_SUMS_H_
#define MILLSTREAM_OPS_NN_CHANNEL_SUMS_H_

#include <cstdint>

#include "millstream/base/thread_pool.h"
#include "millstream/math/simd.h"

// Sums over all values of each channel, as batch normalization needs them. Values are read once from memory, a block
// at a time: sums of a block are in float, sums of blocks in double. Blocks depend on the shape alone, so results do
// not depend on the number of threads.
namespace millstream {

// Images seen as [outer, channels, inner]; inner is 1 when channels come last.
struct NormView {
  int64_t outer, channels, inner;
  int64_t places() const { return outer * inner; }  // values of each channel
};

// sums[c]: of the values of channel c; squares[c]: of the squares of their distances from the channel's mean.
void SumMoments(ThreadPool* pool, const NormView& v, const float* x, double* sums, double* squares);

// The gradient at element i, which belongs to channel c: as given, or behind a clamp of the normalized value, which
// lets it pass where (x - mean) * slope + offset is above 0 and below `end` (NaN: no end).
struct PlainGradient {
  const float* g;
  MILLSTREAM_ALWAYS_INLINE float operator()(int64_t i, int64_t) const { return g[i]; }
};
struct ClampedGradient {
  const float *g, *x, *mean, *slope, *offset;
  float end;
  MILLSTREAM_ALWAYS_INLINE float operator()(int64_t i, int64_t c) const {
    const float z = (x[i] - mean[c]) * slope[c] + offset[c];
    const float below = z >= end ? 0.0f : 1.0f;
    return g[i] * (z > 0 ? below : 0.0f);
  }
};

// sums[c]: of the gradient; products[c]: of the gradient * (x - mean[c]). Grad is one of the two above.
template <typename Grad>
void SumProducts(ThreadPool* pool, const NormView& v, const float* x, const float* mean, Grad grad, double* sums,
                 double* products);
extern template void SumProducts(ThreadPool*, const NormView&, const float*, const float*, PlainGradient, double*,
                                 double*);
extern template void SumProducts(ThreadPool*, const NormView&, const float*, const float*, ClampedGradient, double*,
                                 double*);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_CHANNEL_SUMS_H_
