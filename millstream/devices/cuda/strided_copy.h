// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_STRIDED_COPY_H_
#define MILLSTREAM_DEVICES_CUDA_STRIDED_COPY_H_

#include "absl/container/inlined_vector.h"
#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// Copies a grid of elements between two arrays in device memory in which each axis of the grid has its own step:
// slices, transposes, tilings (step 0 in the source), reversals (negative steps) and paddings are all of this form.
// Axes that continue each other are joined. No target element may occur twice.
class DeviceStridedCopy {
 public:
  // Adds the next inner axis.
  void Add(int64_t size, int64_t from_step, int64_t to_step) { axes_.push_back({size, from_step, to_step}); }
  // Issues one launch for the grid whose first element is at from[from_at] and to[to_at]. Unimplemented if more than 8
  // axes are left after joining.
  Status Launch(Call& call, DType dtype, const void* from, int64_t from_at, void* to, int64_t to_at) const;

 private:
  struct Axis {
    int64_t size, from, to;
  };
  absl::InlinedVector<Axis, 8> axes_;
};

// The largest of 16, 8, 4, 2 and 1 that divides `bits`, an "or" of sizes and addresses.
inline int CopyUnit(uint64_t bits) {
  int unit = 16;
  while (bits % static_cast<uint64_t>(unit) != 0) unit /= 2;
  return unit;
}
inline uint64_t AddressBits(const void* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_STRIDED_COPY_H_
