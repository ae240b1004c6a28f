// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_HANDLE_H_
#define MILLSTREAM_OPS_RESOURCES_HANDLE_H_

#include <string>

#include "millstream/framework/kernel.h"

namespace millstream {

// A scalar handle that points straight to `resource`, which is (or will be) in
// a ResourceManager under these names.
Tensor MakeHandle(const Device& device, std::string container, std::string name, std::string type_name,
                  Ref<Resource> resource);

// The older form: a reference to the two strings {container, name}.
Ref<Variable> MakeStringHandle(const std::string& container, const std::string& name);

// {container, name} behind input i, two strings or a reference to them.
// InvalidArgument if it is anything else.
Status StringHandleInput(const KernelContext& ctx, int i, std::string* container, std::string* name);

// The resource behind input i, a handle of any form. NotFound if it is gone.
template <typename T>
StatusOr<Ref<T>> HandleInput(const KernelContext& ctx, int i) {
  if (!ctx.input_is_ref(i) && ctx.input_dtype(i) == DType::kResource) return ctx.ResourceInput<T>(i);
  std::string container, name;
  RETURN_IF_ERROR(StringHandleInput(ctx, i, &container, &name));
  if (ctx.step_resources() != nullptr) {
    auto in_step = ctx.step_resources()->Lookup<T>(container, name);
    if (in_step.ok()) return in_step;
  }
  if (ctx.resources() == nullptr) return errors::NotFound("Resource ", container, "/", name, " does not exist.");
  return ctx.resources()->Lookup<T>(container, name);
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_HANDLE_H_
