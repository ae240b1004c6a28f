// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_IMPLICIT_H_
#define MILLSTREAM_MATH_CONV_CONV_IMPLICIT_H_

#include "millstream/math/conv/conv.h"

namespace millstream::math {

// Convolutions as matrix products whose left side is read straight from the
// image: along a filter line the image and the filter both run through
// consecutive memory, so a tile of output pixels of one line needs no column
// matrix. Images are copied only where they must be widened by zero columns.

// Whether the shape allows it (one group, no dilation along a line) and it pays
// (lines and channels fill a tile).
bool ImplicitConvFits(const ConvShape& shape);

// Elements between neighbouring pixels, lines and images of an output.
struct OutputSteps {
  int64_t pixel, line, image;
};
OutputSteps DenseOutput(const ConvShape& shape);

template <typename T>
void ImplicitConv(const ConvShape& shape, const T* input, const T* filter, T* output, const OutputSteps& steps,
                  const ConvEpilogue<T>& epilogue, ThreadPool* pool);

// filter_grad[size] (+)= what images [first, last) give to the filter's
// gradient, on this thread.
template <typename T>
void ImplicitFilterGrad(const ConvShape& shape, const T* input, const T* out_grad, int64_t first, int64_t last,
                        T* filter_grad);

// The gradient of the input of a convolution with strides. Pixels whose places differ by whole strides are made by the
// same taps, so each such phase is a convolution without strides of the output's gradient, whose results lie a stride
// apart: no sums are scattered over the image, and no zeros are multiplied.

// Whether the shape allows it (one group, no dilation) and all phases are large enough for ImplicitConv().
bool PhasedInputGradFits(const ConvShape& shape);

template <typename T>
void PhasedInputGrad(const ConvShape& shape, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_IMPLICIT_H_
