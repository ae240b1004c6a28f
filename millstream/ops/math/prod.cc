// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/reduction.h"

namespace millstream {
namespace {

// The permutation that brings the reduced dimensions to the front, and the one that brings them back.
struct Order {
  Output front, back;
};

Order ConstantOrder(GradContext& g, const std::vector<bool>& reduced) {
  std::vector<int32_t> front, back(reduced.size());
  for (int kind = 1; kind >= 0; --kind) {
    for (size_t i = 0; i < reduced.size(); ++i) {
      if (reduced[i] == (kind == 1)) front.push_back(static_cast<int32_t>(i));
    }
  }
  for (size_t i = 0; i < front.size(); ++i) back[front[i]] = static_cast<int32_t>(i);
  return {g.scope().Const(Tensor::Vector(front)), g.scope().Const(Tensor::Vector(back))};
}

// Where each dimension goes: reduced ones by counting those before it, the others behind all of them.
Order OrderAtRunTime(GradContext& g) {
  const GradMath m(g);
  const Output zero = g.scope().Const(int32_t{0});
  const auto before = [&](Output flags) { return g.Op("Cumsum", {flags, zero}, {{"exclusive", true}}); };
  const Output kept = ReplaceReduced(g, g.Op("OnesLike", {m.Shape(g.input(0))}), 0);
  const Output reduced = m.Sub(1.0, kept);
  const Output behind = m.Add(g.Op("Sum", {reduced, zero}), before(kept));
  const Output back = m.Add(m.Mul(reduced, before(reduced)), m.Mul(kept, behind));
  return {g.Op("InvertPermutation", {back}), back};
}

// Each element gets the product of the others, from both sides, so that zeros do no harm.
Status ProdGrad(GradContext& g) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output x = g.input(0);
  const Output dy = BroadcastToInput(g, WithReducedDims(g, g.dy(0)));
  if (!g.status().ok()) return g.status();
  const PartialShape shape = s.ShapeOf(x);
  Tensor axes;
  std::vector<bool> reduced;
  const bool constant = shape.rank_known() && s.ConstantValue(g.input(1), &axes);
  if (constant) RETURN_IF_ERROR(ReadAxes(axes, shape.rank(), &reduced));
  const Order order = constant ? ConstantOrder(g, reduced) : OrderAtRunTime(g);
  // As a matrix [reduced, kept].
  const Output turned = g.Op("Transpose", {x, order.front});
  const Output turned_shape = m.Shape(turned);
  const Output kept = g.Op("Size", {g.output(0)});
  const Output columns = g.Op("Pack", {s.Const(int32_t{-1}), g.Op("Maximum", {kept, s.Const(int32_t{1})})});
  const Output matrix = g.Op("Reshape", {turned, columns});
  const Output axis = s.Const(int32_t{0});
  const Output left = g.Op("Cumprod", {matrix, axis}, {{"exclusive", true}});
  const Output right = g.Op("Cumprod", {matrix, axis}, {{"exclusive", true}, {"reverse", true}});
  const Output others = g.Op("Reshape", {m.Mul(m.Conj(left), m.Conj(right)), turned_shape});
  g.set_dx(0, m.Mul(dy, g.Op("Transpose", {others, order.back})));
  return g.status();
}

REDUCTION("Prod", "T: numbertype")
    .Gradient(ProdGrad)
    .CpuFor<ReduceOp<Reduction::kProd>>(NumberTypes{})
    .HostMemory("reduction_indices")
    .Doc("The product of the elements over the given axes.");

}  // namespace
}  // namespace millstream
