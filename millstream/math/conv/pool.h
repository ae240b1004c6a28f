// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_POOL_H_
#define MILLSTREAM_MATH_CONV_POOL_H_

#include <algorithm>
#include <cstdint>

#include "millstream/base/thread_pool.h"

namespace millstream::math {

// Pooling over windows of NHWC images. Padding below and to the right follows
// from the output size. Padded positions take no part: neither in a maximum nor
// in an average. REQUIRES: every window holds at least one pixel of the input.
struct PoolShape {
  int64_t batch = 1, in_height = 1, in_width = 1, channels = 1;
  int64_t out_height = 1, out_width = 1;
  int64_t window_height = 1, window_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t pad_top = 0, pad_left = 0;
};

namespace internal {

// The input pixels of one window: lines [top, bottom) and columns [left, right)
// of an image, clipped to it.
struct PoolWindow {
  int64_t top, bottom, left, right;
  int64_t size() const { return (bottom - top) * (right - left); }
};

inline PoolWindow WindowAt(const PoolShape& s, int64_t oy, int64_t ox) {
  const int64_t y = oy * s.stride_height - s.pad_top, x = ox * s.stride_width - s.pad_left;
  return {std::max<int64_t>(y, 0), std::min(y + s.window_height, s.in_height), std::max<int64_t>(x, 0),
          std::min(x + s.window_width, s.in_width)};
}

}  // namespace internal

// All of these overwrite their results, split the work over `pool` (null: this thread) and do not depend on the number
// of threads. They are compiled for float and double; pool_inl.h has them for any arithmetic
// element type.

template <typename T>
void MaxPool(const PoolShape& s, const T* input, T* output, ThreadPool* pool);

// Also stores where each maximum was found, counted in elements of its image,
// or of the whole input with `include_batch`.
template <typename T>
void MaxPoolWithArgmax(const PoolShape& s, const T* input, bool include_batch, T* output, int64_t* argmax,
                       ThreadPool* pool);

// The gradient goes to the first maximum of each window in row order. `output`
// is what MaxPool() gave for `input`.
template <typename T>
void MaxPoolGrad(const PoolShape& s, const T* input, const T* output, const T* out_grad, T* in_grad, ThreadPool* pool);

// The gradient of MaxPoolGrad() with respect to its out_grad: picks, for each
// window, the value of `grad` (in the input's shape) at the first maximum.
template <typename T>
void MaxPoolGradGrad(const PoolShape& s, const T* input, const T* output, const T* grad, T* result, ThreadPool* pool);

template <typename T>
void AvgPool(const PoolShape& s, const T* input, T* output, ThreadPool* pool);

template <typename T>
void AvgPoolGrad(const PoolShape& s, const T* out_grad, T* in_grad, ThreadPool* pool);

#define MILLSTREAM_POOL_INSTANCES(prefix, T)                                                             \
  prefix template void MaxPool(const PoolShape&, const T*, T*, ThreadPool*);                             \
  prefix template void MaxPoolWithArgmax(const PoolShape&, const T*, bool, T*, int64_t*, ThreadPool*);   \
  prefix template void MaxPoolGrad(const PoolShape&, const T*, const T*, const T*, T*, ThreadPool*);     \
  prefix template void MaxPoolGradGrad(const PoolShape&, const T*, const T*, const T*, T*, ThreadPool*); \
  prefix template void AvgPool(const PoolShape&, const T*, T*, ThreadPool*);                             \
  prefix template void AvgPoolGrad(const PoolShape&, const T*, T*, ThreadPool*);
MILLSTREAM_POOL_INSTANCES(extern, float)
MILLSTREAM_POOL_INSTANCES(extern, double)

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_POOL_H_
