// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/reduction.h"

namespace millstream {
namespace {

// The elements that are equal to the extreme share its gradient.
Status ExtremeGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output chosen = g.Op("Cast", {g.Op("Equal", {WithReducedDims(g, g.output(0)), x})}, {{"DstT", dy.dtype()}});
  const Output count = g.Op("Sum", {chosen, g.input(1)}, {{"keep_dims", true}});
  g.set_dx(0, m.Mul(m.Div(chosen, count), WithReducedDims(g, dy)));
  return g.status();
}

constexpr char kOrderedTypes[] =
    "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
    "qint8, quint8, qint32, qint16, quint16}";

REDUCTION("Max", kOrderedTypes)
    .Gradient(ExtremeGrad)
    .CpuFor<ReduceOp<Reduction::kMax>>(RealTypes{})
    .HostMemory("reduction_indices")
    .Doc("The largest element over the given axes.");

REDUCTION("Min", kOrderedTypes)
    .Gradient(ExtremeGrad)
    .CpuFor<ReduceOp<Reduction::kMin>>(RealTypes{})
    .HostMemory("reduction_indices")
    .Doc("The smallest element over the given axes.");

OP("All")
    .Input("input: bool")
    .Input("reduction_indices: Tidx")
    .Output("output: bool")
    .Attr("keep_dims: bool = false")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(ReductionShape)
    .Cpu<ReduceOp<Reduction::kAll>>()
    .HostMemory("reduction_indices")
    .Doc("Whether all elements over the given axes are true.");

OP("Any")
    .Input("input: bool")
    .Input("reduction_indices: Tidx")
    .Output("output: bool")
    .Attr("keep_dims: bool = false")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(ReductionShape)
    .Cpu<ReduceOp<Reduction::kAny>>()
    .HostMemory("reduction_indices")
    .Doc("Whether any element over the given axes is true.");

Status EuclideanNormGrad(GradContext& g) {
  const GradMath m(g);
  const Output y = WithReducedDims(g, g.output(0)), dy = WithReducedDims(g, g.dy(0));
  g.set_dx(0, m.Div(g.input(0), m.Div(y, dy)));
  return g.status();
}

REDUCTION("EuclideanNorm", "T: numbertype")
    .Gradient(EuclideanNormGrad)
    .CpuFor<ReduceOp<Reduction::kNorm>>(NumberTypes{})
    .HostMemory("reduction_indices")
    .Doc("The root of the sum of squares over the given axes.");

}  // namespace
}  // namespace millstream
