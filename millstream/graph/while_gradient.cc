// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/while_gradient.h"

#include <algorithm>

#include "millstream/graph/gradient_builder.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

using Grads = GradientBuilder::Grads;
using Region = GradientBuilder::Region;

// What the backward loop carries: the gradient of a loop variable, or the sum over iterations of that of a constant.
struct Carried {
  const LoopVariable* variable = nullptr;  // null: a constant
  Output entering;    // the value outside
  Output inside;      // as the body sees it
  Output initial;     // of the backward loop
  PartialShape shape;
};

// "while/Enter" -> "while_grad"
std::string NameOf(const LoopFrame& loop) {
  const std::string& name = loop.variables[0].enter->name();
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "while_grad" : absl::StrCat(name.substr(0, slash), "_grad");
}

Grad SumOf(const GradientBuilder& builder, const Scope& scope, const std::vector<Output>& outputs, Grads* grads) {
  Grads joined;
  for (const Output& o : outputs) {
    const Grad g = builder.Sum(scope, o, grads);
    if (!g.IsNone()) joined[outputs[0]].push_back(g);
  }
  return builder.Sum(scope, outputs[0], &joined);
}

class WhileGradientBuilder {
 public:
  WhileGradientBuilder(GradientBuilder& builder, const Region& region, const LoopFrame& loop, Grads* grads)
      : builder_(builder), region_(region), loop_(loop), grads_(grads),
        outside_(region.backward.NameScope(NameOf(loop))), forward_outside_(region.forward.NameScope(outside_.name_prefix())) {}

  Status Build() {
    RETURN_IF_ERROR(FindCarried());
    if (carried_.empty()) return OkStatus();
    auto forward = std::make_shared<ForwardLoop>(forward_outside_, loop_, builder_.flow());
    const Scope forward_scope = forward_outside_.WithContext(forward);
    ASSIGN_OR_RETURN(const Output count, forward->AddCounter());
    const Output iterations = outside_.Import(count);
    RETURN_IF_ERROR(outside_.status());
    RETURN_IF_ERROR(FillInitial(outside_.WithControlDependencies({iterations.node})));
    auto backward = std::make_shared<BackwardLoop>(outside_, absl::StrCat(outside_.name_prefix(), "while_context"), loop_,
                                                   forward.get(), forward_scope, &builder_.guards());
    const Scope inside = outside_.WithContext(backward);
    std::vector<Output> initial;
    std::vector<PartialShape> shapes;
    for (const Carried& c : carried_) {
      initial.push_back(c.initial);
      shapes.push_back(c.shape);
    }
    RETURN_IF_ERROR(backward->Open(iterations, initial, shapes));
    std::vector<Output> next, results;
    RETURN_IF_ERROR(DifferentiateBody(*backward, inside, forward_scope, &next));
    RETURN_IF_ERROR(backward->Close(inside, next, &results));
    for (size_t i = 0; i < carried_.size(); ++i) {
      if (builder_.Wanted(carried_[i].entering)) (*grads_)[carried_[i].entering].push_back(Grad(results[i]));
    }
    return OkStatus();
  }

 private:
  Status FindCarried() {
    bool any = false;
    for (const LoopVariable& v : loop_.variables) {
      const DType dtype = Output(v.merge).dtype();
      if (!builder_.Between(v.merge) || !IsDifferentiable(dtype) || dtype == DType::kResource) continue;
      if (v.merge_switch == nullptr) return errors::InvalidArgument("Loop variable '", v.merge->name(), "' has no Switch");
      Carried c;
      c.variable = &v;
      c.entering = v.enter->input(0);
      c.inside = Output(v.merge_switch, 1);
      c.shape = outside_.ShapeOf(v.merge);
      std::vector<Output> exits(v.exits.begin(), v.exits.end());
      if (!exits.empty()) {
        const Grad g = SumOf(builder_, outside_, exits, grads_);
        if (!g.IsNone()) c.initial = DenseGrad(outside_, g);
      }
      any |= static_cast<bool>(c.initial);
      carried_.push_back(c);
    }
    if (!any) carried_.clear();
    if (!any) return outside_.status();
    for (Node* enter : loop_.constants) {
      if (!builder_.Between(enter) || !IsDifferentiable(enter->output_type(0))) continue;
      Carried c;
      c.entering = enter->input(0);
      c.inside = Output(enter);
      carried_.push_back(c);
    }
    return outside_.status();
  }

  // Zeros where nothing arrived yet.
  Status FillInitial(const Scope& scope) {
    for (Carried& c : carried_) {
      if (c.initial) continue;
      if (c.variable != nullptr) {
        if (c.variable->exits.empty()) {
          ASSIGN_OR_RETURN(const Output last, AddExit(*c.variable));
          c.initial = ZerosFor(scope, last);
        } else {
          c.initial = ZerosFor(scope, Output(c.variable->exits[0]));
        }
      } else {
        c.initial = ZerosFor(scope, c.entering);
        c.shape = scope.ShapeOf(c.initial);
      }
    }
    return scope.status();
  }

  StatusOr<Output> AddExit(const LoopVariable& v) {
    Node* exit = forward_outside_.WithContext(nullptr).Add("Exit", {Output(v.merge_switch, 0)});
    RETURN_IF_ERROR(forward_outside_.status());
    forward_outside_.shapes().SetShape(Output(exit), forward_outside_.ShapeOf(v.merge));
    if (forward_outside_.context() != nullptr) forward_outside_.context()->Added(exit);
    return Output(exit);
  }

  Status DifferentiateBody(const BackwardLoop& backward, const Scope& inside, const Scope& forward_scope, std::vector<Output>* next) {
    Grads grads;
    std::vector<Output> seeds;
    for (size_t i = 0; i < carried_.size(); ++i) {
      if (carried_[i].variable == nullptr) continue;
      const Output result = carried_[i].variable->next->input(0);
      grads[result].push_back(Grad(backward.value(static_cast<int>(i))));
      seeds.push_back(result);
    }
    RETURN_IF_ERROR(builder_.Walk({&loop_, inside, forward_scope, true}, seeds, &grads));
    for (size_t i = 0; i < carried_.size(); ++i) {
      const Carried& c = carried_[i];
      std::vector<Output> at = {c.inside};
      if (c.variable != nullptr) at.push_back(Output(c.variable->merge));
      const Grad g = SumOf(builder_, inside, at, &grads);
      const Output sum = backward.value(static_cast<int>(i));
      if (c.variable != nullptr) next->push_back(g.IsNone() ? ZerosFor(inside, c.inside) : DenseGrad(inside, g));
      else next->push_back(g.IsNone() ? sum : inside.Op("AddV2", {sum, DenseGrad(inside, g)}));
    }
    return inside.status();
  }

  GradientBuilder& builder_;
  const Region& region_;
  const LoopFrame& loop_;
  Grads* const grads_;
  const Scope outside_, forward_outside_;
  std::vector<Carried> carried_;
};

}  // namespace

Status WhileGradient(GradientBuilder& builder, const Region& region, const LoopFrame& loop, Grads* grads) {
  for (const auto& node : builder.scope().graph()->nodes()) {
    // What was pushed in another loop is lost to a walk along edges.
    if (node != nullptr && node->Is("StackPopV2") && builder.flow().frame(node.get()) == &loop) {
      return errors::Unimplemented("Second-order gradient for while loops not supported: loop '", loop.name, "' is a gradient itself");
    }
  }
  if (loop.variables.empty() || loop.loop_cond == nullptr) {
    return errors::InvalidArgument("Loop '", loop.name, "' has no variables or no LoopCond: it cannot be differentiated");
  }
  return WhileGradientBuilder(builder, region, loop, grads).Build();
}

}  // namespace millstream
