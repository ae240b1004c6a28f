// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/reduction.h"

namespace millstream {
namespace {

Status SumGrad(GradContext& g) {
  g.set_dx(0, BroadcastToInput(g, WithReducedDims(g, g.dy(0))));
  return g.status();
}

// How many elements make one mean, as a scalar of the type of `like`.
Output Count(GradContext& g, Output like) {
  const PartialShape in = g.scope().ShapeOf(g.input(0)), out = g.scope().ShapeOf(g.output(0));
  if (in.IsFullyDefined() && out.IsFullyDefined()) {
    const int64_t per_mean = in.num_elements() / std::max<int64_t>(1, out.num_elements());
    return g.ConstLike(like, static_cast<double>(per_mean));
  }
  const Output one = g.scope().Const(int64_t{1});
  const Output all = g.Op("Size", {g.input(0)}, {{"out_type", DType::kInt64}});
  const Output means = g.Op("Size", {g.output(0)}, {{"out_type", DType::kInt64}});
  const Output count = g.Op("FloorDiv", {all, g.Op("Maximum", {means, one})});
  return g.Op("Cast", {count}, {{"DstT", like.dtype()}});
}

Status MeanGrad(GradContext& g) {
  const Output dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  // Divides before repeating: fewer divisions.
  const Output each = g.Op(IsInteger(dy.dtype()) ? "FloorDiv" : "RealDiv", {dy, Count(g, dy)});
  g.set_dx(0, BroadcastToInput(g, WithReducedDims(g, each)));
  return g.status();
}

REDUCTION("Sum", "T: numbertype")
    .Gradient(SumGrad)
    .CpuFor<ReduceOp<Reduction::kSum>>(NumberTypes{})
    .HostMemory("reduction_indices")
    .Doc("The sum of the elements over the given axes.");

REDUCTION("Mean", "T: numbertype")
    .Gradient(MeanGrad)
    .CpuFor<ReduceOp<Reduction::kMean>>(NumberTypes{})
    .HostMemory("reduction_indices")
    .Doc("The mean of the elements over the given axes.");

}  // namespace
}  // namespace millstream
