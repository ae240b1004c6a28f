// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/resources/handle.h"

// A resource that holds nothing: what programs use to try out how resources are made, found and reported.
namespace millstream {
namespace {

class StubResource final : public Resource {
 public:
  std::string DebugString() const override { return ""; }
};

class StubResourceHandle final : public Kernel {
 public:
  explicit StubResourceHandle(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {}
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, MakeHandle(*ctx.device(), container_, name_, "StubResource", Ref<Resource>()));
    return OkStatus();
  }

 private:
  const std::string container_, name_;
};

StatusOr<const ResourceHandle*> Handle(const KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  if (t.num_elements() != 1) return errors::InvalidArgument("Expected one handle, got shape ", t.shape().ToString());
  return &t.data<ResourceHandle>()[0];
}

Status CreateCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, Handle(ctx));
  return ctx.resources()->Create(handle->container, handle->name, MakeRef<StubResource>());
}

Status InitializedCpu(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar<bool>(ctx.ResourceInput<StubResource>(0).ok()));
  return OkStatus();
}

Status UsingCpu(KernelContext& ctx) { return ctx.ResourceInput<StubResource>(0).status(); }

OP("StubResourceHandleOp")
    .Output("resource: resource")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<StubResourceHandle>()
    .Doc("A handle of a resource that holds nothing.");

OP("ResourceCreateOp").Input("resource: resource").Shape(UnknownShape).Cpu(CreateCpu).Doc("Makes a stub resource.");

OP("ResourceInitializedOp")
    .Input("resource: resource")
    .Output("initialized: bool")
    .Shape(ScalarShape)
    .Cpu(InitializedCpu)
    .Doc("Whether a stub resource has been made.");

OP("ResourceUsingOp")
    .Input("resource: resource")
    .Shape(UnknownShape)
    .Cpu(UsingCpu)
    .Doc("Fails if a stub resource has not been made.");

}  // namespace
}  // namespace millstream
