// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

class ConstKernel : public Kernel {
 public:
  explicit ConstKernel(KernelInit& init) : value_(init.Attr<Tensor>("value")) {
    const DType dtype = init.Attr<DType>("dtype");
    if (value_.dtype() != dtype) {
      init.Fail(errors::InvalidArgument("Type mismatch between value (", DTypeName(value_.dtype()), ") and dtype (",
                                        DTypeName(dtype), ")"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, value_);
    return OkStatus();
  }

 private:
  const Tensor value_;
};

Status ConstShape(ShapeContext& c) {
  Tensor value;
  RETURN_IF_ERROR(c.GetAttr("value", &value));
  c.set_output(0, value.shape());
  return OkStatus();
}

OP("Const")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kConst))
    .Output("output: dtype")
    .Attr("value: tensor")
    .Attr("dtype: type")
    .Shape(ConstShape)
    .NotDifferentiable()
    .Cpu<ConstKernel>()
    .HostMemory("output")
    .Doc("A constant tensor.");

}  // namespace
}  // namespace millstream
