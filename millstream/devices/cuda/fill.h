// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_FILL_H_
#define MILLSTREAM_DEVICES_CUDA_FILL_H_

#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// Writes one value to all elements. `value` is one element in device memory, or in host memory.
Status FillFromDevice(Call& call, const void* value, Tensor* out);
Status FillFromHost(Call& call, const void* value, Tensor* out);
Status FillZero(Call& call, Tensor* out);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_FILL_H_
