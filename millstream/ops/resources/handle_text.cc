// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/resources/handle_text.h"

#include "millstream/proto/resource_handle.pb.h"

namespace millstream {

Tensor HandleText(const ResourceHandle& handle) {
  proto::ResourceHandleProto message;
  message.set_device(handle.device);
  message.set_container(handle.container);
  message.set_name(handle.name);
  message.set_hash_code(handle.hash_code);
  message.set_maybe_type_name(handle.type_name);
  return Tensor::Scalar(message.SerializeAsString());
}

StatusOr<ResourceHandle> HandleFromText(const KernelContext& ctx, int i) {
  if (ctx.input(i).rank() != 0) return errors::InvalidArgument("string_handle must be a scalar");
  proto::ResourceHandleProto message;
  if (!message.ParseFromString(ctx.input(i).scalar<std::string>())) {
    return errors::InvalidArgument("Could not parse string_handle as a valid ResourceHandle");
  }
  ResourceHandle handle;
  handle.device = message.device();
  handle.container = message.container();
  handle.name = message.name();
  handle.type_name = message.maybe_type_name();
  return handle;
}

}  // namespace millstream
