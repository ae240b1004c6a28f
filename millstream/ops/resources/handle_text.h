// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_HANDLE_TEXT_H_
#define MILLSTREAM_OPS_RESOURCES_HANDLE_TEXT_H_

#include "millstream/framework/kernel.h"

namespace millstream {

// The handle of an iterator as a string, for another step to find it by.
Tensor HandleText(const ResourceHandle& handle);
// The handle (without a pointer) that the string of input i says. InvalidArgument if it is none.
StatusOr<ResourceHandle> HandleFromText(const KernelContext& ctx, int i);

// Output 0: the handle of input 0, which must be that of a T, as a string.
template <typename T>
Status OutputHandleText(KernelContext& ctx) {
  RETURN_IF_ERROR(ctx.ResourceInput<T>(0).status());
  ctx.set_output(0, HandleText(ctx.input(0).data<ResourceHandle>()[0]));
  return OkStatus();
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_HANDLE_TEXT_H_
