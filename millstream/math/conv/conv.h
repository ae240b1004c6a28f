// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_H_
#define MILLSTREAM_MATH_CONV_CONV_H_

#include <cstdint>

#include "millstream/base/thread_pool.h"
#include "millstream/math/gemm/gemm.h"

namespace millstream::math {

// A two-dimensional convolution in TensorFlow's layouts: input and output NHWC,
// filter HWIO with I = in_channels / groups. Padding below and to the right
// follows from the output size; positions outside the input read as zero.
// REQUIRES: sizes, strides, dilations and groups are positive (batch may be 0);
// groups divides both channel counts.
struct ConvShape {
  int64_t batch = 1, in_height = 1, in_width = 1, in_channels = 1;
  int64_t filter_height = 1, filter_width = 1;
  int64_t out_height = 1, out_width = 1, out_channels = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t groups = 1;

  int64_t in_group() const { return in_channels / groups; }
  int64_t out_group() const { return out_channels / groups; }
  int64_t input_size() const { return batch * in_height * in_width * in_channels; }
  int64_t output_size() const { return batch * out_height * out_width * out_channels; }
  int64_t filter_size() const { return filter_height * filter_width * in_group() * out_channels; }
};

// What is fused to the end of a forward convolution. `bias` has out_channels
// values or is null.
template <typename T>
struct ConvEpilogue {
  const T* bias = nullptr;
  Activation activation = Activation::kNone;
};

// All of these overwrite their result, split the work over `pool` (null: this
// thread) and reuse scratch memory. Results are the same from run to run for
// the same number of threads. Other element types: conv_generic.h.
void Conv2D(const ConvShape& shape, const float* input, const float* filter, float* output,
            const ConvEpilogue<float>& epilogue, ThreadPool* pool);
void Conv2D(const ConvShape& shape, const double* input, const double* filter, double* output,
            const ConvEpilogue<double>& epilogue, ThreadPool* pool);

void Conv2DBackpropInput(const ConvShape& shape, const float* filter, const float* out_grad, float* in_grad,
                         ThreadPool* pool);
void Conv2DBackpropInput(const ConvShape& shape, const double* filter, const double* out_grad, double* in_grad,
                         ThreadPool* pool);

void Conv2DBackpropFilter(const ConvShape& shape, const float* input, const float* out_grad, float* filter_grad,
                          ThreadPool* pool);
void Conv2DBackpropFilter(const ConvShape& shape, const double* input, const double* out_grad, double* filter_grad,
                          ThreadPool* pool);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_H_
