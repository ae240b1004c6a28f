// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/resources/handle.h"

namespace millstream {

Tensor MakeHandle(const Device& device, std::string container, std::string name, std::string type_name,
                  Ref<Resource> resource) {
  ResourceHandle handle;
  handle.device = device.name();
  handle.container = std::move(container);
  handle.name = std::move(name);
  handle.type_name = std::move(type_name);
  handle.resource = std::move(resource);
  return Tensor::Scalar(handle);
}

Ref<Variable> MakeStringHandle(const std::string& container, const std::string& name) {
  Ref<Variable> strings = MakeRef<Variable>(DType::kString, PartialShape({2}), name);
  strings->Assign(Tensor::Vector<std::string>({container, name}));
  return strings;
}

Status StringHandleInput(const KernelContext& ctx, int i, std::string* container, std::string* name) {
  const Tensor strings = ctx.input_is_ref(i) ? ctx.ref_input(i).Snapshot() : ctx.input(i);
  if (!strings.IsInitialized() || strings.dtype() != DType::kString || strings.num_elements() != 2) {
    return errors::InvalidArgument("input ", i, " must be a handle of two strings");
  }
  *container = strings.data<std::string>()[0];
  *name = strings.data<std::string>()[1];
  return OkStatus();
}

}  // namespace millstream
