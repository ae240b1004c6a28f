// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/array/gather_nd.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {
namespace {

class ResourceGatherNd final : public Kernel {
 public:
  explicit ResourceGatherNd(KernelInit& init) : dtype_(init.Attr<DType>("dtype")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Ref<Variable> variable, VariableInput(ctx, 0, dtype_));
    const Tensor params = variable->Snapshot();
    if (!params.IsInitialized()) return MissingVariable(ctx, 0);
    return GatherNdSlices(ctx, params, ctx.input(1), BadIndex::kError);
  }

 private:
  const DType dtype_;
};

Status ResourceGatherNdShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape params, VariableShapeOf(c, 0, "dtype"));
  PartialShape indices;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &indices));
  if (!params.rank_known() || !indices.rank_known()) return OkStatus();
  const int outer = indices.rank() - 1;
  const int64_t depth = indices.dim(outer);
  if (depth < 0) return OkStatus();
  if (depth > params.rank()) {
    return errors::InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                                   indices.ToString(), " and params shape: ", params.ToString());
  }
  c.set_output(0, indices.Slice(0, outer).Concatenate(params.Slice(static_cast<int>(depth), params.rank())));
  return OkStatus();
}

Status ResourceGatherNdGrad(GradContext& g) {
  const Output indices = g.input(1);
  const Output shape = g.Op("VariableShape", {g.input(0)}, {{"out_type", indices.dtype()}});
  const PartialShape known = g.scope().ShapeOf(indices);
  if (known.rank() == 2 && known.dim(1) == 1) {
    const Output rows = g.Op("Squeeze", {indices}, {{"squeeze_dims", std::vector<int64_t>{-1}}});
    g.set_dx(0, Grad::Slices(g.dy(0), rows, shape));
  } else {
    g.set_dx(0, g.Op("ScatterNd", {indices, g.dy(0), shape}));
  }
  return g.status();
}

OP("ResourceGatherNd")
    .Trait(OpTrait::kReadsVariable)
    .Input("resource: resource")
    .Input("indices: Tindices")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("Tindices: {int32, int64}")
    .Stateful()
    .Shape(ResourceGatherNdShape)
    .Gradient(ResourceGatherNdGrad)
    .Cpu<ResourceGatherNd>()
    .Doc("Slices of the variable behind a handle at the positions that the last dimension of indices spells out.");

}  // namespace
}  // namespace millstream
