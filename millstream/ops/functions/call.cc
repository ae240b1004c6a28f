// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/functions/function_call.h"

namespace millstream {
namespace {

class Call final : public AsyncKernel {
 public:
  explicit Call(KernelInit& init) : function_(init.Attr<NameAttrList>("f")) {}
  void ComputeAsync(KernelContext& ctx, Done done) override { CallFunction(ctx, function_, 0, std::move(done)); }

 private:
  CalledFunction function_;
};

class IfOp final : public AsyncKernel {
 public:
  explicit IfOp(KernelInit& init)
      : then_(init.Attr<NameAttrList>("then_branch")), else_(init.Attr<NameAttrList>("else_branch")) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    const StatusOr<bool> condition = AsCondition(ctx.input(0));
    if (!condition.ok()) return done(condition.status());
    CallFunction(ctx, *condition ? then_ : else_, 1, std::move(done));
  }

 private:
  CalledFunction then_, else_;
};

// An index outside the branches takes the last one.
class CaseOp final : public AsyncKernel {
 public:
  explicit CaseOp(KernelInit& init) {
    for (NameAttrList& branch : init.Attr<std::vector<NameAttrList>>("branches")) {
      branches_.push_back(std::make_unique<CalledFunction>(std::move(branch)));
    }
  }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    if (ctx.input(0).rank() != 0) return done(errors::InvalidArgument("branch_index must be scalar"));
    const int32_t index = ctx.input(0).scalar<int32_t>();
    const bool in_range = index >= 0 && static_cast<size_t>(index) < branches_.size();
    CallFunction(ctx, in_range ? *branches_[index] : *branches_.back(), 1, std::move(done));
  }

 private:
  std::vector<std::unique_ptr<CalledFunction>> branches_;
};

// Calls the gradient function of f, which the runtime derives.
class SymbolicGradient final : public AsyncKernel {
 public:
  explicit SymbolicGradient(KernelInit& init)
      : function_(NameAttrList{"SymbolicGradient", {{"f", AttrValue(init.Attr<NameAttrList>("f"))}}}) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    const StatusOr<std::shared_ptr<CompiledFunction>> gradient =
        function_.Get(ctx, static_cast<size_t>(ctx.num_inputs()), CalledFunction::kAnyNumber);
    if (gradient.ok() && static_cast<int>((*gradient)->ret_types().size()) != ctx.num_outputs()) {
      return done(errors::InvalidArgument("SymGrad expects to return ", ctx.num_outputs(), " tensor(s), but get ",
                                          (*gradient)->ret_types().size(), " tensor(s) instead."));
    }
    CallFunction(ctx, function_, 0, std::move(done));
  }

 private:
  CalledFunction function_;
};

Status OutputShapesAttr(ShapeContext& c) {
  AttrValue::Shapes shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (shapes.empty()) return OkStatus();
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as num outputs (", shapes.size(), " vs. ",
                                   c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return OkStatus();
}

void CallAttrs(OpBuilder& op) {
  op.Input("args: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("f: func")
      .Attr("config: string = ''")
      .Attr("config_proto: string = ''")
      .Attr("executor_type: string = ''");
}

OP("PartitionedCall")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kCall))
    .With(CallAttrs)
    .Shape(UnknownShape)
    .Cpu<Call>()
    .HostMemory(kAllArgs)
    .Doc("Calls a function.");

OP("StatefulPartitionedCall")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kEffectsOnly)
    .Trait(KindTrait(OpKind::kCall))
    .With(CallAttrs)
    .Stateful()
    .Shape(UnknownShape)
    .Cpu<Call>()
    .HostMemory(kAllArgs)
    .Doc("Calls a function that has effects.");

void IfAttrs(OpBuilder& op) {
  op.Input("cond: Tcond")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tcond: type")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("then_branch: func")
      .Attr("else_branch: func")
      .Attr("output_shapes: list(shape) = []");
}

OP("If")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kEffectsOnly)
    .Trait(KindTrait(OpKind::kIf))
    .With(IfAttrs)
    .Stateful()
    .Shape(OutputShapesAttr)
    .Cpu<IfOp>()
    .HostMemory(kAllArgs)
    .Doc("Calls one of two functions.");

OP("StatelessIf")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kIf))
    .With(IfAttrs)
    .Shape(OutputShapesAttr)
    .Cpu<IfOp>()
    .HostMemory(kAllArgs)
    .Doc("Calls one of two functions without effects.");

void CaseAttrs(OpBuilder& op) {
  op.Input("branch_index: int32")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("branches: list(func) >= 1")
      .Attr("output_shapes: list(shape) = []");
}

OP("Case")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kEffectsOnly)
    .Trait(KindTrait(OpKind::kCase))
    .With(CaseAttrs)
    .Stateful()
    .Shape(OutputShapesAttr)
    .Cpu<CaseOp>()
    .HostMemory(kAllArgs)
    .Doc("Calls one of several functions.");

OP("StatelessCase")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kCase))
    .With(CaseAttrs)
    .Shape(OutputShapesAttr)
    .Cpu<CaseOp>()
    .HostMemory(kAllArgs)
    .Doc("Calls one of several functions without effects.");

OP("SymbolicGradient")
    .Trait(OpTrait::kAnyDevice)
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type) >= 1")
    .Attr("Tout: list(type) >= 1")
    .Attr("f: func")
    .Shape([](ShapeContext& c) {
      // A gradient has the shape of what it is the gradient of.
      for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) c.set_output(i, c.input(i));
      return OkStatus();
    })
    .Cpu<SymbolicGradient>()
    .HostMemory(kAllArgs)
    .Doc("Calls the gradient of a function.");

}  // namespace
}  // namespace millstream
