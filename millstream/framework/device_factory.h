// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_DEVICE_FACTORY_H_
#define MILLSTREAM_FRAMEWORK_DEVICE_FACTORY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/framework/device.h"

namespace millstream {

// What ConfigProto.gpu_options say of accelerators.
struct AcceleratorOptions {
  double memory_fraction = 0;   // of each device's memory, for this process; 0: what is there
  bool allow_growth = false;    // take memory as it is needed, not at once
  std::string visible_devices;  // "1,0": these, in this order; "": all
  // For each visible device the memory limits of its virtual devices, in MB; none: one device with all of it.
  std::vector<std::vector<int64_t>> virtual_memory_mb;
};

// What a task wants of a factory.
struct DeviceRequest {
  std::string task;          // "/job:ps/replica:0/task:0"
  uint64_t incarnation = 0;  // of the first device; the others count on
  int max_devices = -1;      // -1: as many as there are
  ThreadPool* pool = nullptr;
  AcceleratorOptions options = {};
};

// Makes the devices of one type, beside the CPU. Plug-ins register theirs when they are loaded.
struct DeviceFactory {
  std::string type;  // "GPU"
  std::function<StatusOr<std::vector<std::unique_ptr<Device>>>(const DeviceRequest&)> make;
};

// REQUIRES: called while a plug-in is loaded, before sessions use devices of this type.
void RegisterDeviceFactory(DeviceFactory factory);
const std::vector<DeviceFactory>& DeviceFactories();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DEVICE_FACTORY_H_
