// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_CPU_DEVICE_H_
#define MILLSTREAM_FRAMEWORK_CPU_DEVICE_H_

#include "millstream/framework/device.h"

namespace millstream {

// The host's cores and memory. Several CPU devices of one process share a pool.
class CpuDevice final : public Device {
 public:
  // `pool` is borrowed and must outlive the device.
  CpuDevice(DeviceAttributes attributes, ThreadPool* pool) : Device(std::move(attributes)), pool_(pool) {}

  Allocator* allocator() override { return HostAllocator(); }
  ThreadPool* pool() override { return pool_; }

  // A device that computes in the calling thread only: for folding constants and for tests. Never destroyed.
  static CpuDevice* SingleThreaded();

 private:
  ThreadPool* const pool_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_CPU_DEVICE_H_
