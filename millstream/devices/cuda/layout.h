// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_LAYOUT_H_
#define MILLSTREAM_DEVICES_CUDA_LAYOUT_H_

#include <cstddef>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/framework/device_factory.h"

namespace millstream::cuda {

// One device of this process: a GPU, or a virtual part of one.
struct DevicePlace {
  int ordinal = 0;  // as CUDA counts
  int part = 0;
  size_t memory_limit = 0;

  bool operator==(const DevicePlace& o) const = default;
};

// The devices that the options ask for, of GPUs with this much memory each. InvalidArgument, worded as TensorFlow's, if
// they name GPUs that are not there, or more memory than they have.
StatusOr<std::vector<DevicePlace>> LayOut(const AcceleratorOptions& options, const std::vector<size_t>& memory);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_LAYOUT_H_
