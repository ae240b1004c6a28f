// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"

#include "millstream/graph/gradients/gradient_builder.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

// The gradient that y starts with; empty if y cannot be differentiated.
StatusOr<Output> SeedOf(const Scope& scope, Output y, Output given) {
  if (!given) {
    if (IsComplex(y.dtype())) {
      return errors::InvalidArgument("Gradients of complex tensors ('", y.name(),
                                     "') must set grad_ys (y.dtype = ", DTypeName(y.dtype()), ")");
    }
    if (!IsDifferentiable(y.dtype())) return Output();
    return OnesFor(scope, y);
  }
  if (!IsDifferentiable(y.dtype())) return Output();
  if (given.dtype() != y.dtype() && y.dtype() != DType::kResource) {
    return errors::InvalidArgument("Gradient type ", DTypeName(given.dtype()), " given for '", y.name(), "' with type ",
                                   DTypeName(y.dtype()));
  }
  if (!scope.ShapeOf(given).IsCompatibleWith(scope.ShapeOf(y))) {
    return errors::InvalidArgument("grad_ys '", given.name(), "' of shape ", scope.ShapeOf(given).ToString(),
                                   " does not fit '", y.name(), "' of shape ", scope.ShapeOf(y).ToString());
  }
  return given;
}

Status CheckArguments(const std::vector<Output>& ys, const std::vector<Output>& xs,
                      const std::vector<Output>& grad_ys) {
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return errors::InvalidArgument("Must have as many grad_ys as ys: ", grad_ys.size(), " and ", ys.size());
  }
  for (const auto* list : {&ys, &xs}) {
    for (const Output& o : *list) {
      if (!o || o.index < 0 || o.index >= o.node->num_outputs())
        return errors::InvalidArgument("Gradient of a tensor that is not there");
    }
  }
  return OkStatus();
}

}  // namespace

Status AddSymbolicGradients(const Scope& outer, const std::vector<Output>& ys, const std::vector<Output>& xs,
                            const std::vector<Output>& grad_ys, std::vector<Grad>* grads,
                            const GradientOptions& options) {
  RETURN_IF_ERROR(outer.status());
  return AddGradientsIn(ys.empty() ? outer : outer.NameScope("gradients"), ys, xs, grad_ys, grads, options);
}

Status AddGradientsIn(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                      const std::vector<Output>& grad_ys, std::vector<Grad>* grads, const GradientOptions& options) {
  RETURN_IF_ERROR(scope.status());
  RETURN_IF_ERROR(CheckArguments(ys, xs, grad_ys));
  grads->assign(xs.size(), Grad());
  if (ys.empty()) return OkStatus();
  GradientBuilder builder(scope, options);
  RETURN_IF_ERROR(builder.Prepare(ys, xs));
  GradientBuilder::Region region{builder.flow().frame(ys[0].node), scope, scope};
  for (const Output& y : ys) {
    const LoopFrame* frame = builder.flow().frame(y.node);
    if (frame != nullptr && frame->IsInside(region.frame)) region.frame = frame;
    if (region.frame != nullptr && !region.frame->IsInside(frame)) {
      return errors::InvalidArgument("Gradients of '", ys[0].name(), "' and '", y.name(),
                                     "', which are in different loops");
    }
  }
  for (const Output& x : xs) {
    const LoopFrame* frame = builder.flow().frame(x.node);
    if (frame != nullptr && (region.frame == nullptr || !region.frame->IsInside(frame))) {
      return errors::InvalidArgument("Cannot compute the gradient inside a while loop with respect to '", x.name(),
                                     "' from outside of it");
    }
  }
  GradientBuilder::Grads sums;
  for (size_t i = 0; i < ys.size(); ++i) {
    const Output given = grad_ys.empty() ? Output() : grad_ys[i];
    ASSIGN_OR_RETURN(Output seed, SeedOf(scope.WithOpName(absl::StrCat("grad_ys_", i)), ys[i], given));
    RETURN_IF_ERROR(scope.status());
    if (seed) sums[ys[i]].push_back(seed);
  }
  RETURN_IF_ERROR(builder.Walk(region, ys, &sums));
  for (size_t i = 0; i < xs.size(); ++i) (*grads)[i] = builder.Sum(scope, xs[i], &sums);
  return scope.status();
}

}  // namespace millstream
