// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_FOLD_H_
#define MILLSTREAM_MATH_CONV_CONV_FOLD_H_

#include "millstream/math/conv/conv.h"

namespace millstream::math {

// Convolutions with strides of two by Winograd's filtering. Where the pixels of each 2 x 2 block of the image become
// the channels of one pixel, the convolution has no strides and a filter of half the size: 5 x 5 taps become 3 x 3 with
// four times the channels, which take 9 products for each output and pair of channels instead of 25.

// Whether the shape allows it and it pays.
bool FoldedConvFits(const ConvShape& shape);

// REQUIRES: FoldedConvFits(shape).
void FoldedConv(const ConvShape& shape, const float* input, const float* filter, float* output,
                const ConvEpilogue<float>& epilogue, ThreadPool* pool);
void FoldedInputGrad(const ConvShape& shape, const float* filter, const float* out_grad, float* in_grad,
                     ThreadPool* pool);
void FoldedFilterGrad(const ConvShape& shape, const float* input, const float* out_grad, float* filter_grad,
                      ThreadPool* pool);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_FOLD_H_
