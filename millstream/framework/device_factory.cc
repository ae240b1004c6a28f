// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_factory.h"

namespace millstream {
namespace {

std::vector<DeviceFactory>& Factories() {
  static auto* factories = new std::vector<DeviceFactory>;
  return *factories;
}

}  // namespace

void RegisterDeviceFactory(DeviceFactory factory) { Factories().push_back(std::move(factory)); }

const std::vector<DeviceFactory>& DeviceFactories() { return Factories(); }

}  // namespace millstream
