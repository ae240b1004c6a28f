// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_CPU_DEVICE_H_
#define MILLSTREAM_FRAMEWORK_CPU_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

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

// The `count` CPU devices of a task ("/job:ps/replica:0/task:0"), with incarnations from `incarnation` on. `pool` is
// borrowed.
std::vector<std::unique_ptr<Device>> MakeCpuDevices(const std::string& task, int count, uint64_t incarnation,
                                                    ThreadPool* pool);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_CPU_DEVICE_H_
