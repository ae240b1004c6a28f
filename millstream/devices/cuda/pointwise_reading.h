// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_POINTWISE_READING_H_
#define MILLSTREAM_DEVICES_CUDA_POINTWISE_READING_H_

#include "millstream/devices/cuda/strided.h"

namespace millstream::cuda {

// How an operand is read for a stretch of several elements of the result, which is seen as a matrix.
enum class Reading : uint8_t { kFull, kOne, kRow, kColumn };
struct Operand {
  Reading reading;
  int64_t row_groups;  // stretches in a row of the matrix
};

// How operand k is read in stretches of `lanes` elements; false if it cannot be.
bool FindReading(const Strided<2>& at, int k, int lanes, Operand* how);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_POINTWISE_READING_H_
