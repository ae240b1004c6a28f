// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_DEVICE_SET_H_
#define MILLSTREAM_RUNTIME_DEVICE_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/framework/device.h"
#include "millstream/runtime/session_options.h"

namespace millstream {

// The devices of one task. A local session has one set, the sessions of a worker share one. Immutable once made.
class DeviceSet {
 public:
  // The CPU devices that `options.device_count` asks for, at least one, then those that plug-ins make (as many as it
  // allows), named after `task` ("/job:ps/replica:0/task:0"). Kernels on them use `pool`, which is borrowed and must
  // outlive the set.
  DeviceSet(const std::string& task, const SessionOptions& options, uint64_t incarnation, ThreadPool* pool);
  // As many devices as `other` has, with its incarnation and pool, named after another task.
  DeviceSet(const std::string& task, const DeviceSet& other);

  // The device with this full name; null if there is none.
  Device* Find(absl::string_view name) const;
  std::vector<DeviceAttributes> attributes() const;
  size_t size() const { return devices_.size(); }
  // Some device has memory of its own.
  bool has_accelerators() const;
  // A value that may be in the memory of one of these devices, on the host: itself, or a copy, for which this waits.
  StatusOr<Tensor> ToHost(const Tensor& value) const;

 private:
  const std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_DEVICE_SET_H_
