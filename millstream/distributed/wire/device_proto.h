// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_DEVICE_PROTO_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_DEVICE_PROTO_H_

#include "millstream/framework/device.h"
#include "millstream/proto/device_attributes.pb.h"

namespace millstream {

inline void DeviceToProto(const DeviceAttributes& device, proto::DeviceAttributes* message) {
  message->set_name(device.name);
  message->set_device_type(device.type);
  message->set_memory_limit(device.memory_limit);
  message->set_incarnation(device.incarnation);
  message->set_physical_device_desc(device.physical_desc);
}

inline DeviceAttributes DeviceFromProto(const proto::DeviceAttributes& message) {
  return {message.name(), message.device_type(), message.memory_limit(), message.incarnation(),
          message.physical_device_desc()};
}

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_DEVICE_PROTO_H_
