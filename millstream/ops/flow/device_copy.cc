// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/accelerator.h"
#include "millstream/framework/device_kernels.h"
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

class CopyToDevice final : public Kernel {
 public:
  explicit CopyToDevice(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    Accelerator* const device = AsAccelerator(ctx.device());
    if (device == nullptr) {  // nothing to copy where all memory is the host's
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const Tensor& from = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor to, device->AllocateTensor(from.dtype(), from.shape()));
    // Holding the source keeps others from writing into it until it has been read.
    device->CopyFromHost(from, &to, [from](const Status&) {});
    ctx.set_output(0, std::move(to));
    return OkStatus();
  }
};

// Copies to host memory, and waits for the work that computes the value.
class CopyToHost final : public AsyncKernel {
 public:
  explicit CopyToHost(KernelInit&) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    Accelerator* const device = AsAccelerator(ctx.device());
    if (device == nullptr) {
      ctx.set_output(0, ctx.TakeInput(0));
      return done(OkStatus());
    }
    const Tensor& from = ctx.input(0);
    StatusOr<Tensor> to = Tensor::Make(from.dtype(), from.shape());
    if (!to.ok()) return done(to.status());
    ctx.set_output(0, *std::move(to));
    device->CopyToHost(from, ctx.output(0), std::move(done));
  }
};

OP("_CopyToDevice")
    .Trait(KindTrait(OpKind::kCopyToDevice))
    .Trait(OpTrait::kAnyDevice)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Cpu<CopyToDevice>()
    .HostMemory("input")
    .Doc("Its input, in the memory of the device that it is on.");

OP("_CopyToHost")
    .Trait(KindTrait(OpKind::kCopyToHost))
    .Trait(OpTrait::kAnyDevice)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Cpu<CopyToHost>()
    .HostMemory("output")
    .Doc("Its input, in host memory, once it has been computed.");

}  // namespace
}  // namespace millstream
