// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_DEVICE_PLUGINS_H_
#define MILLSTREAM_RUNTIME_DEVICE_PLUGINS_H_

namespace millstream {

// Loads the shared libraries that MILLSTREAM_DEVICE_PLUGINS names (paths with ':' between), or, where it is not set,
// the one that the wheel millstream-cuda has put beside this library's folder; once in the life of the process. They
// register device factories (framework/device_factory.h) and kernels (framework/device_kernels.h) while they are
// loaded. One that cannot be loaded is left out, with a warning. Thread-safe.
void LoadDevicePlugins();

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_DEVICE_PLUGINS_H_
