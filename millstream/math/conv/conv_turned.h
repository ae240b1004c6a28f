// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_TURNED_H_
#define MILLSTREAM_MATH_CONV_CONV_TURNED_H_

#include "millstream/math/conv/conv.h"

namespace millstream::math {

// With unit strides the gradient of the input is itself a convolution, of the output's gradient with the filter turned
// by half a turn and its channels swapped. REQUIRES: unit strides.
ConvShape TurnedShape(const ConvShape& shape);

template <typename T>
void TurnFilter(const ConvShape& shape, const T* filter, T* turned);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_TURNED_H_
