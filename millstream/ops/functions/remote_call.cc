// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_name.h"
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/functions/function_call.h"

namespace millstream {
namespace {

// Calls a function on a device that is named at run time, which must be the one that the node is on: placement puts the
// node there if the name is a constant.
class RemoteCall final : public AsyncKernel {
 public:
  explicit RemoteCall(KernelInit& init) : function_(init.Attr<NameAttrList>("f")) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    const Tensor& target = ctx.input(0);
    if (target.rank() != 0) return done(errors::InvalidArgument("target must be a scalar"));
    const StatusOr<DeviceName> wanted = DeviceName::Parse(target.scalar<std::string>());
    if (!wanted.ok()) return done(wanted.status());
    const StatusOr<DeviceName> here = DeviceName::Parse(ctx.device()->name());
    if (!here.ok()) return done(here.status());
    if (!wanted->Matches(*here)) {
      return done(errors::Unimplemented("RemoteCall on ", ctx.device()->name(), " cannot call a function on ",
                                        target.scalar<std::string>(), ", which is another device"));
    }
    CallFunction(ctx, function_, 1, std::move(done));
  }

 private:
  CalledFunction function_;
};

OP("RemoteCall")
    .Trait(KindTrait(OpKind::kRemoteCall))
    .Input("target: string")
    .Input("args: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 1")
    .Attr("Tout: list(type) >= 1")
    .Attr("f: func")
    .Stateful()
    .Shape(UnknownShape)
    .Cpu<RemoteCall>()
    .Doc("Calls a function on another device, named by a constant, or on its own.");

}  // namespace
}  // namespace millstream
