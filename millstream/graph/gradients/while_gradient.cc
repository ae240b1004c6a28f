// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/while_gradient.h"

#include <algorithm>

#include "millstream/graph/gradients/gradient_builder.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

using Grads = GradientBuilder::Grads;
using Region = GradientBuilder::Region;

// A loop variable whose gradient the backward loop carries, under the same index.
struct Carried {
  const LoopVariable* variable = nullptr;
  Output inside;   // as the body sees it
  Output initial;  // of its gradient
  PartialShape shape;
};

// A constant of the loop whose gradient is summed over iterations: in one variable of the backward loop, or, if it is
// sparse, appended to two.
struct Summed {
  Output entering;
  int values = -1;
  int indices = -1;
  Output dense_shape;
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
      : builder_(builder),
        loop_(loop),
        grads_(grads),
        outside_(region.backward.NameScope(NameOf(loop))),
        forward_outside_(region.forward.NameScope(outside_.name_prefix())) {}

  Status Build() {
    RETURN_IF_ERROR(FindCarried());
    if (carried_.empty()) return OkStatus();
    auto forward = std::make_shared<ForwardLoop>(forward_outside_, loop_, builder_.flow());
    const Scope forward_scope = forward_outside_.WithContext(forward);
    ASSIGN_OR_RETURN(const Output count, forward->AddCounter(builder_.guards()));
    const Output iterations = outside_.Import(count);
    RETURN_IF_ERROR(outside_.status());
    const Scope start = outside_.WithControlDependencies({iterations.node});
    RETURN_IF_ERROR(FillInitial(start));
    auto backward = std::make_shared<BackwardLoop>(outside_, absl::StrCat(outside_.name_prefix(), "while_context"),
                                                   loop_, forward.get(), forward_scope, &builder_.guards());
    const Scope inside = outside_.WithContext(backward);
    std::vector<Output> initial;
    std::vector<PartialShape> shapes;
    for (const Carried& c : carried_) {
      initial.push_back(c.initial);
      shapes.push_back(c.shape);
    }
    RETURN_IF_ERROR(backward->Open(iterations, initial, shapes));
    std::vector<Output> next, results;
    Grads body;
    RETURN_IF_ERROR(DifferentiateBody(*backward, inside, forward_scope, &body, &next));
    for (Node* enter : loop_.constants) {
      if (!builder_.Between(enter) || !builder_.Wanted(enter->input(0))) continue;
      RETURN_IF_ERROR(SumConstant(enter, start, inside, *backward, &body, &next));
    }
    RETURN_IF_ERROR(backward->Close(inside, next, &results));
    PassOn(results);
    return OkStatus();
  }

 private:
  Status FindCarried() {
    bool any = false;
    for (const LoopVariable& v : loop_.variables) {
      const DType dtype = Output(v.merge).dtype();
      if (!builder_.Between(v.merge) || !IsDifferentiable(dtype) || dtype == DType::kResource) continue;
      if (v.merge_switch == nullptr)
        return errors::InvalidArgument("Loop variable '", v.merge->name(), "' has no Switch");
      Carried c;
      c.variable = &v;
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
    return outside_.status();
  }

  // Zeros where nothing arrived yet.
  Status FillInitial(const Scope& scope) {
    for (Carried& c : carried_) {
      if (c.initial) continue;
      if (c.variable->exits.empty()) {
        ASSIGN_OR_RETURN(const Output last, AddExit(*c.variable));
        c.initial = ZerosFor(scope, last);
      } else {
        c.initial = ZerosFor(scope, Output(c.variable->exits[0]));
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

  Status DifferentiateBody(const BackwardLoop& backward, const Scope& inside, const Scope& forward_scope, Grads* grads,
                           std::vector<Output>* next) {
    std::vector<Output> seeds;
    for (size_t i = 0; i < carried_.size(); ++i) {
      const Output result = carried_[i].variable->next->input(0);
      (*grads)[result].push_back(Grad(backward.value(static_cast<int>(i))));
      seeds.push_back(result);
    }
    RETURN_IF_ERROR(builder_.Walk({&loop_, inside, forward_scope, true}, seeds, grads));
    for (const Carried& c : carried_) {
      const Grad g = SumOf(builder_, inside, {c.inside, Output(c.variable->merge)}, grads);
      next->push_back(g.IsNone() ? ZerosFor(inside, c.inside) : DenseGrad(inside, g));
    }
    return inside.status();
  }

  Status SumConstant(Node* enter, const Scope& start, const Scope& inside, BackwardLoop& backward, Grads* grads,
                     std::vector<Output>* next) {
    const Grad g = builder_.Sum(inside, Output(enter), grads);
    if (g.IsNone()) return inside.status();
    Summed sum;
    sum.entering = enter->input(0);
    if (!g.IsSparse()) {
      const Output zeros = ZerosFor(start, sum.entering);
      RETURN_IF_ERROR(start.status());
      sum.values = backward.AddVariable(zeros, start.ShapeOf(zeros));
      RETURN_IF_ERROR(start.status());
      next->push_back(
          inside.Op(g.dense.dtype() == DType::kVariant ? "AddN" : "AddV2", {backward.value(sum.values), g.dense}));
    } else {
      RETURN_IF_ERROR(SumSlices(g, start, inside, backward, &sum, next));
    }
    sums_.push_back(sum);
    return inside.status();
  }

  // Begins with no rows; every iteration appends its own.
  Status SumSlices(const Grad& g, const Scope& start, const Scope& inside, BackwardLoop& backward, Summed* sum,
                   std::vector<Output>* next) {
    const bool handle = sum->entering.dtype() == DType::kResource;
    sum->dense_shape = start.Op(handle ? "VariableShape" : "Shape", {sum->entering});
    const Output axis = start.Const<int32_t>(0);
    const Output row =
        start.Op("StridedSlice", {sum->dense_shape, start.Constant({1}), start.Constant({0}), start.Constant({1})},
                 {{"end_mask", 1}});
    const Output empty = start.Op("ConcatV2", {start.Constant({0}), row, axis});
    const Output values = start.Op("Fill", {empty, start.Const(ScalarOf(g.values.dtype(), 0))});
    const Output indices = start.Const(Tensor(g.indices.dtype(), Shape({0})));
    RETURN_IF_ERROR(start.status());
    PartialShape shape = start.ShapeOf(g.values);
    if (shape.rank() > 0) shape.set_dim(0, -1);
    sum->values = backward.AddVariable(values, shape);
    sum->indices = backward.AddVariable(indices, PartialShape({-1}));
    RETURN_IF_ERROR(start.status());
    next->push_back(inside.Op("ConcatV2", {backward.value(sum->values), g.values, axis}));
    next->push_back(inside.Op("ConcatV2", {backward.value(sum->indices), g.indices, axis}));
    return inside.status();
  }

  void PassOn(const std::vector<Output>& results) {
    for (size_t i = 0; i < carried_.size(); ++i) {
      const Output entering = carried_[i].variable->enter->input(0);
      if (builder_.Wanted(entering)) (*grads_)[entering].push_back(Grad(results[i]));
    }
    for (const Summed& s : sums_) {
      const Grad g =
          s.indices < 0 ? Grad(results[s.values]) : Grad::Slices(results[s.values], results[s.indices], s.dense_shape);
      (*grads_)[s.entering].push_back(g);
    }
  }

  GradientBuilder& builder_;
  const LoopFrame& loop_;
  Grads* const grads_;
  const Scope outside_, forward_outside_;
  std::vector<Carried> carried_;
  std::vector<Summed> sums_;
};

}  // namespace

Status WhileGradient(GradientBuilder& builder, const Region& region, const LoopFrame& loop, Grads* grads) {
  if (loop.variables.empty() || loop.loop_cond == nullptr) {
    return errors::InvalidArgument("Loop '", loop.name,
                                   "' has no variables or no LoopCond: it cannot be differentiated");
  }
  return WhileGradientBuilder(builder, region, loop, grads).Build();
}

}  // namespace millstream
