// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_PHILOX_STATE_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_PHILOX_STATE_H_

#include <cstdint>

namespace millstream::cuda {

// The state of a generator of millstream/math/random/philox.h, as host and device pass it to each other.
struct PhiloxState {
  uint64_t low, high;  // the counter
  uint32_t key[2];
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_PHILOX_STATE_H_
