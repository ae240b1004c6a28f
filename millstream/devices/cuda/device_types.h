// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_DEVICE_TYPES_H_
#define MILLSTREAM_DEVICES_CUDA_DEVICE_TYPES_H_

#include "millstream/tensor/dtype.h"

namespace millstream::cuda {

// For ops whose int32 values are sizes or places, and are handled on the host (borrowed_kernel.h).
using RealTypesButInt32 = Join<FloatTypes, Types<int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>>;
using PodTypesButInt32 = Join<RealTypesButInt32, Join<ComplexTypes, Types<bool>>>;

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_DEVICE_TYPES_H_
