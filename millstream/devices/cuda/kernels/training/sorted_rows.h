// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_TRAINING_SORTED_ROWS_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_TRAINING_SORTED_ROWS_H_

#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// Rows by where they go: places ascend, and rows for one place keep their order. Places outside [0, limit) belong
// nowhere; device code leaves them out, since the host cannot see them in time.
struct SortedRows {
  const int64_t* places;
  const int32_t* positions;  // where the row was
  int64_t count;
  int64_t limit;
};

// `indices` (int32 or int64) are in device memory. `memory` must be held until the work that reads the result is
// issued.
StatusOr<SortedRows> SortRows(Call& call, const Tensor& indices, int64_t limit, Tensor* memory);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_TRAINING_SORTED_ROWS_H_
