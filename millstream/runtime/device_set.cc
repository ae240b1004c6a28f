// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/device_set.h"

#include <algorithm>
#include <set>

#include "millstream/base/logging.h"
#include "millstream/base/mutex.h"
#include "millstream/base/notification.h"
#include "millstream/framework/accelerator.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/device_factory.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/device_plugins.h"

namespace millstream {
namespace {

int NumCpuDevices(const SessionOptions& options) {
  const auto asked = options.device_count.find("CPU");
  return asked == options.device_count.end() ? 1 : std::max(1, asked->second);
}

// The same numbers of devices again.
SessionOptions CountsOf(const DeviceSet& devices) {
  SessionOptions options;
  for (const DeviceAttributes& device : devices.attributes()) ++options.device_count[device.type];
  return options;
}

AcceleratorOptions OptionsOf(const SessionOptions& options) {
  AcceleratorOptions result;
  if (options.config == nullptr) return result;
  const proto::GPUOptions& gpu = options.config->gpu_options();
  result.memory_fraction = gpu.per_process_gpu_memory_fraction();
  result.allow_growth = gpu.allow_growth();
  result.visible_devices = gpu.visible_device_list();
  for (const auto& devices : gpu.experimental().virtual_devices()) {
    auto& limits = result.virtual_memory_mb.emplace_back();
    for (const float limit : devices.memory_limit_mb()) limits.push_back(static_cast<int64_t>(limit));
  }
  return result;
}

// Once for each message: programs make many sessions.
void WarnOnce(const std::string& message) {
  static Mutex mu;
  static auto* const seen = new std::set<std::string>;
  MutexLock lock(mu);
  if (seen->insert(message).second) LogWarning(message);
}

std::vector<std::unique_ptr<Device>> MakeDevices(const std::string& task, const SessionOptions& options,
                                                 uint64_t incarnation, ThreadPool* pool) {
  std::vector<std::unique_ptr<Device>> devices = MakeCpuDevices(task, NumCpuDevices(options), incarnation, pool);
  LoadDevicePlugins();
  for (const DeviceFactory& factory : DeviceFactories()) {
    DeviceRequest request{
        .task = task, .incarnation = incarnation + devices.size(), .pool = pool, .options = OptionsOf(options)};
    if (const auto asked = options.device_count.find(factory.type); asked != options.device_count.end()) {
      request.max_devices = asked->second;
    }
    StatusOr<std::vector<std::unique_ptr<Device>>> made = factory.make(request);
    if (!made.ok()) {
      WarnOnce(absl::StrCat("no ", factory.type, " devices: ", made.status().message()));
      continue;
    }
    std::move(made->begin(), made->end(), std::back_inserter(devices));
  }
  return devices;
}

}  // namespace

DeviceSet::DeviceSet(const std::string& task, const SessionOptions& options, uint64_t incarnation, ThreadPool* pool)
    : devices_(MakeDevices(task, options, incarnation, pool)) {}

DeviceSet::DeviceSet(const std::string& task, const DeviceSet& other)
    : devices_(MakeDevices(task, CountsOf(other), other.devices_.front()->attributes().incarnation,
                           other.devices_.front()->pool())) {}

bool DeviceSet::has_accelerators() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return !device->IsHostMemory(); });
}

StatusOr<Tensor> DeviceSet::ToHost(const Tensor& value) const {
  for (const auto& device : devices_) {
    Accelerator* const accelerator = AsAccelerator(device.get());
    if (accelerator == nullptr || !accelerator->Holds(value)) continue;
    ASSIGN_OR_RETURN(Tensor copy, Tensor::Make(value.dtype(), value.shape()));
    Notification copied;
    Status status;
    accelerator->CopyToHost(value, &copy, [&](const Status& answer) {
      status = answer;
      copied.Notify();
    });
    copied.Wait();
    RETURN_IF_ERROR(status);
    return copy;
  }
  return value;
}

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
