// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_op_role.h"

#include "millstream/framework/op_traits.h"

namespace millstream {

DeviceOpRole RoleOnDevice(const OpEntry& op) {
  switch (KindOf(op.traits)) {
    case OpKind::kCopyToDevice:
      return DeviceOpRole::kCopyToDevice;
    case OpKind::kCopyToHost:
      return DeviceOpRole::kCopyToHost;
    case OpKind::kVariable:
      return DeviceOpRole::kVariable;
    default:
      return op.Has(OpTrait::kMetadataOnly) ? DeviceOpRole::kPassesOn : DeviceOpRole::kOther;
  }
}

}  // namespace millstream
