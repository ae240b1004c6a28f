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

}  // namespace millstream
