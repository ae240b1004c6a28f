// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_COLUMN_BLOCKS_H_
#define MILLSTREAM_DEVICES_CUDA_COLUMN_BLOCKS_H_

#include <vector>

#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// Some neighbouring columns of a matrix, as a matrix of their own in device memory.
struct DeviceColumns {
  void* data;
  int64_t width;  // in elements
};

// Makes a matrix with `rows` rows out of blocks that lie side by side, or takes it apart. A launch serves up to 64
// blocks; those without elements are left out.
Status JoinColumns(Call& call, DType dtype, const std::vector<DeviceColumns>& blocks, int64_t rows, void* whole);
Status SplitColumns(Call& call, DType dtype, const std::vector<DeviceColumns>& blocks, int64_t rows, const void* whole);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_COLUMN_BLOCKS_H_
