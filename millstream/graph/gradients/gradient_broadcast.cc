// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

// What summing back to `x` takes, when it can be told from static shapes.
struct StaticSum {
  std::vector<int32_t> leading;  // axes that x does not have
  std::vector<int32_t> inner;    // axes where x has size 1
};

bool PlanSum(const PartialShape& x, const PartialShape& other, StaticSum* plan) {
  if (x.rank_known() && other.rank_known() && other.rank() == 0) return true;
  if (!x.rank_known()) return other.rank() == 0;  // a scalar broadcasts, x does not
  if (!other.rank_known()) return false;
  const int rank = std::max(x.rank(), other.rank());
  for (int i = 0; i < rank; ++i) {
    const int ix = i - (rank - x.rank()), io = i - (rank - other.rank());
    const int64_t a = ix < 0 ? 1 : x.dim(ix), b = io < 0 ? 1 : other.dim(io);
    if (ix < 0)
      plan->leading.push_back(i);
    else if (b == 1)
      continue;
    else if (a == 1)
      plan->inner.push_back(i);
    else if (a < 0)
      return false;  // may be 1 and be broadcast
  }
  return true;
}

Output SumStatically(const Scope& scope, Output grad, const StaticSum& plan) {
  if (plan.leading.empty() && plan.inner.empty()) return grad;
  if (!plan.leading.empty()) grad = scope.Op("Sum", {grad, scope.Const(Tensor::Vector<int32_t>(plan.leading))});
  if (plan.inner.empty()) return grad;
  std::vector<int32_t> axes = plan.inner;
  for (int32_t& a : axes) a -= static_cast<int32_t>(plan.leading.size());
  return scope.Op("Sum", {grad, scope.Const(Tensor::Vector<int32_t>(axes))}, {{"keep_dims", true}});
}

Output SumDynamically(const Scope& scope, Output grad, Output axes, Output shape) {
  return scope.Op("Reshape", {scope.Op("Sum", {grad, axes}), shape});
}

}  // namespace

Output SumToShapeOf(const Scope& scope, Output x, Output other, Output grad) {
  StaticSum plan;
  if (x == other) return grad;
  if (PlanSum(scope.ShapeOf(x), scope.ShapeOf(other), &plan)) return SumStatically(scope, grad, plan);
  Output sx = scope.Op("Shape", {x});
  Node* args = scope.Add("BroadcastGradientArgs", {sx, scope.Op("Shape", {other})});
  return args == nullptr ? Output() : SumDynamically(scope, grad, Output(args, 0), sx);
}

void BroadcastGrads(GradContext& g, Output x, Output y, Output gx, Output gy) {
  const Scope& scope = g.scope();
  if (!scope.ok()) return;
  const PartialShape sx = scope.ShapeOf(x), sy = scope.ShapeOf(y);
  StaticSum px, py;
  const bool static_x = !gx || x == y || PlanSum(sx, sy, &px);
  const bool static_y = !gy || x == y || PlanSum(sy, sx, &py);
  if (static_x && static_y) {
    if (gx) g.set_dx(0, SumStatically(scope, gx, px));
    if (gy) g.set_dx(1, SumStatically(scope, gy, py));
    return;
  }
  Output shape_x = g.Op("Shape", {x}), shape_y = g.Op("Shape", {y});
  Node* args = g.Add("BroadcastGradientArgs", {shape_x, shape_y});
  if (args == nullptr) return;
  if (gx) g.set_dx(0, static_x ? SumStatically(scope, gx, px) : SumDynamically(scope, gx, Output(args, 0), shape_x));
  if (gy) g.set_dx(1, static_y ? SumStatically(scope, gy, py) : SumDynamically(scope, gy, Output(args, 1), shape_y));
}

}  // namespace millstream
