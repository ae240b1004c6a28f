// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_DEVICE_H_
#define MILLSTREAM_FRAMEWORK_DEVICE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "millstream/base/status.h"
#include "millstream/base/thread_pool.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// What the placer and clients see of a device.
struct DeviceAttributes {
  std::string name;  // "/job:localhost/replica:0/task:0/device:CPU:0"
  std::string type;  // "CPU"
  int64_t memory_limit = 256 << 20;
  uint64_t incarnation = 0;
  std::string physical_desc;
};

// A queue of work on a device, in order. Null on devices that compute in the calling thread (the CPU).
class Stream {
 public:
  virtual ~Stream() = default;
  // Runs `fn` on a host thread once everything queued before is done.
  virtual void ThenCall(std::function<void()> fn) = 0;
  virtual Status Wait() = 0;
};

// Where kernels run and tensors live. Owned by the session or the server; outlives every plan that uses it. Kernels are
// found by attributes().type. Thread-safe.
class Device {
 public:
  explicit Device(DeviceAttributes attributes) : attributes_(std::move(attributes)) {}
  virtual ~Device() = default;

  const DeviceAttributes& attributes() const { return attributes_; }
  const std::string& name() const { return attributes_.name; }

  // Memory that kernels on this device address.
  virtual Allocator* allocator() = 0;
  virtual bool IsHostMemory() const { return true; }
  // Threads for kernels that compute on the host.
  virtual ThreadPool* pool() = 0;
  virtual Stream* stream() { return nullptr; }

  // Asynchronous copies between host and device memory; `done` may run on any thread. REQUIRES: `to` is allocated.
  virtual void CopyToHost(const Tensor& from, Tensor* to, std::function<void(Status)> done);
  virtual void CopyFromHost(const Tensor& from, Tensor* to, std::function<void(Status)> done);

 private:
  const DeviceAttributes attributes_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DEVICE_H_
