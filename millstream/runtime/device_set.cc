// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/device_set.h"

#include <algorithm>

#include "millstream/framework/cpu_device.h"

namespace millstream {
namespace {

int NumCpuDevices(const SessionOptions& options) {
  const auto asked = options.device_count.find("CPU");
  return asked == options.device_count.end() ? 1 : std::max(1, asked->second);
}

}  // namespace

DeviceSet::DeviceSet(const std::string& task, const SessionOptions& options, uint64_t incarnation, ThreadPool* pool)
    : devices_(MakeCpuDevices(task, NumCpuDevices(options), incarnation, pool)) {}

DeviceSet::DeviceSet(const std::string& task, const DeviceSet& other)
    : devices_(MakeCpuDevices(task, static_cast<int>(other.size()), other.devices_.front()->attributes().incarnation,
                              other.devices_.front()->pool())) {}

Device* DeviceSet::Find(absl::string_view name) const {
  for (const auto& device : devices_) {
    if (device->name() == name) return device.get();
  }
  return nullptr;
}

std::vector<DeviceAttributes> DeviceSet::attributes() const {
  std::vector<DeviceAttributes> list;
  for (const auto& device : devices_) list.push_back(device->attributes());
  return list;
}

}  // namespace millstream
