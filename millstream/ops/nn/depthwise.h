// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_DEPTHWISE_H_
#define MILLSTREAM_OPS_NN_DEPTHWISE_H_

#include "millstream/math/conv/conv.h"

namespace millstream {

// Convolutions of every channel by itself (shape.groups = in_channels), without the matrices that groups of one channel
// do not pay for. Results are overwritten, and do not depend on the number of threads. T is float or double.
template <typename T>
void DepthwiseForward(const math::ConvShape& s, const T* input, const T* filter, T* output, ThreadPool* pool);
template <typename T>
void DepthwiseBackpropInput(const math::ConvShape& s, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool);
template <typename T>
void DepthwiseBackpropFilter(const math::ConvShape& s, const T* input, const T* out_grad, T* filter_grad,
                             ThreadPool* pool);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_DEPTHWISE_H_
