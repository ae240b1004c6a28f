// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/kernel.h"

#include "millstream/base/notification.h"
#include "millstream/framework/op_def.h"

namespace millstream {

Status AsyncKernel::Compute(KernelContext& ctx) {
  Notification finished;
  Status result;
  ComputeAsync(ctx, [&](Status status) {
    result = std::move(status);
    finished.Notify();
  });
  finished.Wait();
  return result;
}

bool KernelContext::InputIsExclusive(int i) const {
  const Entry* e = f_.inputs[i];
  return !e->ref && e->uses.load(std::memory_order_acquire) == 1 && e->tensor.RefIsOne();
}

Tensor KernelContext::TakeInput(int i) {
  Entry* e = f_.inputs[i];
  if (e->ref) return f_.derefs[i];
  if (e->uses.load(std::memory_order_acquire) == 1) return std::move(e->tensor);
  return e->tensor;
}

StatusOr<Tensor*> KernelContext::AllocateOutput(int i, const Shape& shape) {
  Tensor& out = f_.outputs[i].tensor;
  if (!out.Allocate(output_dtype(i), shape, f_.device->allocator())) [[unlikely]] {
    return errors::ResourceExhausted("OOM when allocating tensor with shape", shape.ToString(), " and type ",
                                     DTypeName(output_dtype(i)), " on ", f_.device->name());
  }
  return &out;
}

StatusOr<Tensor*> KernelContext::ForwardOrAllocate(std::initializer_list<int> candidates, int i, const Shape& shape) {
  for (const int c : candidates) {
    const Entry* e = f_.inputs[c];
    if (e->tensor.dtype() != output_dtype(i) || e->tensor.num_elements() != shape.num_elements() ||
        !InputIsExclusive(c)) {
      continue;
    }
    // The input stays in place too: the kernel still reads it through input(c).
    f_.outputs[i].tensor = e->tensor.shape() == shape ? e->tensor : e->tensor.Reshaped(shape);
    return &f_.outputs[i].tensor;
  }
  return AllocateOutput(i, shape);
}

void KernelInit::InputRange(absl::string_view name, int* begin, int* end) {
  Check(ArgRange(op_.inputs, attrs_, name, begin, end));
}

void KernelInit::OutputRange(absl::string_view name, int* begin, int* end) {
  Check(ArgRange(op_.outputs, attrs_, name, begin, end));
}

}  // namespace millstream
