// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_COLUMNS_H_
#define MILLSTREAM_MATH_CONV_CONV_COLUMNS_H_

#include "millstream/math/conv/conv.h"

namespace millstream::math {

// The matrix whose product with the filter is a convolution: one row for each
// output pixel, one column for each filter element of `group` (filter_height *
// filter_width * in_group). Rows [row, row + rows) of output lines of one
// image.
template <typename T>
void ImageToColumns(const ConvShape& shape, const T* image, int64_t group, int64_t row, int64_t rows, T* columns);

// The transpose: adds every element of `columns` to the input pixel it was read
// from.
template <typename T>
void AddColumnsToImage(const ConvShape& shape, const T* columns, int64_t group, int64_t row, int64_t rows, T* image);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_COLUMNS_H_
