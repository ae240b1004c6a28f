// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_ACCELERATOR_H_
#define MILLSTREAM_FRAMEWORK_ACCELERATOR_H_

#include <memory>

#include "millstream/framework/device.h"

namespace millstream {

// Work that was recorded once and is issued again as a whole, at the same addresses.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual Status Launch() = 0;
  // Whether the tensor is in memory of the recording.
  virtual bool Holds(const Tensor& tensor) const = 0;
};

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

  // Issues a copy within the device. REQUIRES: same size.
  virtual Status CopyOnDevice(const Tensor& from, Tensor* to) {
    (void)from, (void)to;
    return errors::Unimplemented("copies within ", name());
  }
  // Copies to the host and waits.
  virtual Status ReadBack(const Tensor& from, Tensor* to) {
    (void)from, (void)to;
    return errors::Unimplemented("waiting for a copy from ", name());
  }

  // Recordings. Between the two calls, what this thread issues is recorded and does not run, and memory that this
  // thread allocates on the device belongs to the recording, which must live as long as tensors in it are used.
  virtual bool CanRecord() const { return false; }
  virtual Status StartRecording() { return errors::Unimplemented(name(), " cannot record work"); }
  // Within a recording: work after StartLane() runs beside that of other lanes, and after all work before the first of
  // them; JoinLanes() ends that. Work in lanes must not allocate memory.
  virtual Status StartLane() { return OkStatus(); }
  virtual Status JoinLanes() { return OkStatus(); }
  virtual StatusOr<std::unique_ptr<Recording>> FinishRecording() {
    return errors::Unimplemented(name(), " cannot record work");
  }
};

// Null if the device uses the host's memory.
inline Accelerator* AsAccelerator(Device* device) {
  return device->IsHostMemory() ? nullptr : static_cast<Accelerator*>(device);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ACCELERATOR_H_
