// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_DEPTHWISE_VECTORS_H_
#define MILLSTREAM_OPS_NN_DEPTHWISE_VECTORS_H_

#include "millstream/math/conv.h"

namespace millstream {

// Depthwise convolutions with one output channel per input channel, a vector of channels at a time: sums stay in
// registers until a pixel is done. On this thread.

// Lines [begin, end) of the output, counted over all images.
template <typename T>
void DepthwiseLines(const math::ConvShape& s, const T* input, const T* filter, int64_t begin, int64_t end, T* output);

// The gradient of filter line `ky` for channels [first, last), from all images.
template <typename T>
void DepthwiseFilterLine(const math::ConvShape& s, const T* input, const T* out_grad, int64_t ky, int64_t first,
                         int64_t last, T* filter_grad);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_DEPTHWISE_VECTORS_H_
