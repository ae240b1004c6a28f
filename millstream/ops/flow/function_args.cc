// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/call_frame.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

StatusOr<CallFrame*> FrameOf(const KernelContext& ctx) {
  if (ctx.step().call_frame != nullptr) return ctx.step().call_frame;
  return errors::Internal("This op runs only inside a function");
}

class Arg final : public Kernel {
 public:
  explicit Arg(KernelInit& init) : index_(init.Attr<int>("index")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(CallFrame * frame, FrameOf(ctx));
    if (index_ >= frame->num_args()) {
      return errors::InvalidArgument("Function has ", frame->num_args(), " arguments, number ", index_,
                                     " was asked for");
    }
    if (frame->arg(index_).dtype() != ctx.output_dtype(0)) {
      return errors::InvalidArgument("Type mismatch: actual ", DTypeName(frame->arg(index_).dtype()), " vs. expect ",
                                     DTypeName(ctx.output_dtype(0)));
    }
    if (!frame->arg(index_).IsInitialized())
      return errors::Internal("Argument ", index_, " was taken already or never given");
    ctx.set_output(0, frame->TakeArg(index_));
    return OkStatus();
  }

 private:
  const int index_;
};

class Retval final : public Kernel {
 public:
  explicit Retval(KernelInit& init) : index_(init.Attr<int>("index")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(CallFrame * frame, FrameOf(ctx));
    if (index_ >= frame->num_rets()) {
      return errors::InvalidArgument("Function has ", frame->num_rets(), " results, number ", index_, " was given");
    }
    frame->set_ret(index_, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  const int index_;
};

// "_output_shapes", where the caller said it, is the shape of an argument.
Status ArgShape(ShapeContext& ctx) {
  if (const AttrValue* value = ctx.attrs().Find("_output_shapes")) {
    if (const auto* shapes = value->get<AttrValue::Shapes>(); shapes != nullptr && shapes->size() == 1) {
      ctx.set_output(0, shapes->front());
    }
  }
  return OkStatus();
}

Status NoOutputs(ShapeContext&) { return OkStatus(); }

OP("_Arg")
    .Output("output: T")
    .Attr("T: type")
    .Attr("index: int >= 0")
    .Stateful()
    .Shape(ArgShape)
    .Cpu<Arg>()
    .Doc("An argument of the function in whose body it stands.");

OP("_Retval")
    .Input("input: T")
    .Attr("T: type")
    .Attr("index: int >= 0")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<Retval>()
    .Doc("A result of the function in whose body it stands.");

}  // namespace
}  // namespace millstream
