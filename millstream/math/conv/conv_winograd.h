// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_WINOGRAD_H_
#define MILLSTREAM_MATH_CONV_CONV_WINOGRAD_H_

#include "millstream/math/conv/conv.h"
#include "millstream/math/conv/folded_image.h"

namespace millstream::math {

// Convolutions by Winograd's minimal filtering, on blocks of 6 x 6 pixels: a 3
// x 3 filter yields 4 x 4 outputs with a quarter of the products, a 5 x 5
// filter 2 x 2 outputs with 36 %. With transforms input' = B^T x B, filter' = G
// w G^T,
//   output = A^T (filter' * input') A,   filter_grad = G^T (input' * (A
//   out_grad A^T)) G,
// where * is, for each of the 36 positions, a matrix product over channels.
// Rounding errors are a few times those of the direct sum; see ConvWinogradTest
// for their size.

// Whether the shape allows it and it pays: unit strides, one group, channels in
// multiples of 16.
bool WinogradFits(const ConvShape& shape);

// Which images are stored otherwise than the shape says, see conv_fold.h. Null: as it says.
struct WinogradFolds {
  const FoldedImage* input = nullptr;
  const FoldedImage* output = nullptr;
};

void WinogradConv(const ConvShape& shape, const float* input, const float* filter, float* output,
                  const ConvEpilogue<float>& epilogue, ThreadPool* pool, const WinogradFolds& folds = {});
// REQUIRES: the output is not folded.
void WinogradFilterGrad(const ConvShape& shape, const float* input, const float* out_grad, float* filter_grad,
                        ThreadPool* pool, const WinogradFolds& folds = {});

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_WINOGRAD_H_
