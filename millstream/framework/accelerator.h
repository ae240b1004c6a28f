// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_ACCELERATOR_H_
#define MILLSTREAM_FRAMEWORK_ACCELERATOR_H_

#include <string>

#include "millstream/framework/device.h"

namespace millstream {

// A device with memory of its own, which the host can neither read nor write, and a stream of work that runs later than
// it is issued.
//
// A kernel's Compute() on an accelerator issues work and returns; its outputs are tensors whose bytes come when the
// stream gets there. Work issued later sees what earlier work wrote. Memory is stream-ordered: once the host has let go
// of a tensor, its memory serves work that is issued later, so whoever issues work need not keep the tensors alive.
// Only CopyToHost() says when bytes have arrived.
//
// CopyFromHost(from, to, done) is issued in the same order: `from` must stay as it is until `done` runs.
// CopyToHost(from, to, done) calls `done` when the bytes are there, never on the thread of the stream.
class Accelerator : public Device {
 public:
  using Device::Device;

  bool IsHostMemory() const final { return false; }
  // Memory of the device, with no particular contents. ResourceExhausted, naming size and device, if there is none.
  // REQUIRES: a plain type.
  virtual StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape) = 0;
  // Whether the tensor is in this device's memory.
  virtual bool Holds(const Tensor& tensor) const = 0;
};

// Null if the device uses the host's memory.
inline Accelerator* AsAccelerator(Device* device) {
  return device->IsHostMemory() ? nullptr : static_cast<Accelerator*>(device);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ACCELERATOR_H_
