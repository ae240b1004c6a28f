// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/gradients.h"
#include "millstream/ops/math/reduction.h"

namespace millstream {
namespace {

// Each element gets the product of the others, from both sides, so that zeros do no harm.
Status ProdGrad(GradContext& g) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output x = g.input(0);
  const Output dy = BroadcastToInput(g, WithReducedDims(g, g.dy(0)));
  const PartialShape shape = s.ShapeOf(x);
  Tensor axes;
  if (!shape.rank_known() || !s.ConstantValue(g.input(1), &axes)) {
    return errors::Unimplemented("The gradient of Prod needs a known rank and constant axes");
  }
  std::vector<bool> reduced;
  RETURN_IF_ERROR(ReadAxes(axes, shape.rank(), &reduced));
  std::vector<int32_t> order, back(reduced.size());
  for (int kind = 1; kind >= 0; --kind) {
    for (size_t i = 0; i < reduced.size(); ++i) {
      if (reduced[i] == (kind == 1)) order.push_back(static_cast<int32_t>(i));
    }
  }
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int32_t>(i);
  // As a matrix [reduced, kept].
  const Output turned = g.Op("Transpose", {x, s.Const(Tensor::Vector<int32_t>(order))});
  const Output turned_shape = m.Shape(turned);
  const Output kept = g.Op("Size", {g.output(0)});
  const Output columns = g.Op("Pack", {s.Const(int32_t{-1}), g.Op("Maximum", {kept, s.Const(int32_t{1})})});
  const Output matrix = g.Op("Reshape", {turned, columns});
  const Output axis = s.Const(int32_t{0});
  const Output left = g.Op("Cumprod", {matrix, axis}, {{"exclusive", true}});
  const Output right = g.Op("Cumprod", {matrix, axis}, {{"exclusive", true}, {"reverse", true}});
  const Output others = g.Op("Reshape", {m.Mul(m.Conj(left), m.Conj(right)), turned_shape});
  g.set_dx(0, m.Mul(dy, g.Op("Transpose", {others, s.Const(Tensor::Vector<int32_t>(back))})));
  return g.status();
}

OP("Prod")
    .Input("input: T")
    .Input("reduction_indices: Tidx")
    .Output("output: T")
    .Attr("keep_dims: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
          "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(ReductionShape)
    .Gradient(ProdGrad)
    .CpuFor<ReduceOp<Reduction::kProd>>(NumberTypes{})
    .HostMemory("reduction_indices")
    .Doc("The product of the elements over the given axes.");

}  // namespace
}  // namespace millstream
