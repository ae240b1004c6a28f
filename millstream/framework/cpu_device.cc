// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/cpu_device.h"

namespace millstream {

CpuDevice* CpuDevice::SingleThreaded() {
  static auto* device = [] {
    DeviceAttributes attributes;
    attributes.name = "/job:localhost/replica:0/task:0/device:CPU:0";
    attributes.type = "CPU";
    return new CpuDevice(attributes, new ThreadPool(1, /*always_worker=*/false));
  }();
  return device;
}

std::vector<std::unique_ptr<Device>> MakeCpuDevices(const std::string& task, int count, uint64_t incarnation,
                                                    ThreadPool* pool) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    DeviceAttributes attributes;
    attributes.name = absl::StrCat(task, "/device:CPU:", i);
    attributes.type = "CPU";
    attributes.incarnation = incarnation + static_cast<uint64_t>(i);
    devices.push_back(std::make_unique<CpuDevice>(std::move(attributes), pool));
  }
  return devices;
}

}  // namespace millstream
