// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_DEVICE_OP_ROLE_H_
#define MILLSTREAM_FRAMEWORK_DEVICE_OP_ROLE_H_

#include "millstream/framework/op.h"

namespace millstream {

// What an op does on an accelerator, as far as its own kernel does not say (framework/device_kernel.h).
enum class DeviceOpRole {
  kOther,
  kCopyToDevice,
  kCopyToHost,
  kVariable,  // gives a reference or a handle, the same in every step
  kPassesOn,  // a kernel of the host that passes tensors on, or tells their shapes, without touching their bytes
};
DeviceOpRole RoleOnDevice(const OpEntry& op);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DEVICE_OP_ROLE_H_
