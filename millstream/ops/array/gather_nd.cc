// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/gather_nd.h"

#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {

Status GatherNdSlices(KernelContext& ctx, const Tensor& params, const Tensor& indices, BadIndex policy) {
  if (params.rank() < 1) return errors::InvalidArgument("params must be at least a vector");
  if (indices.rank() < 1) return errors::InvalidArgument("indices must be at least a vector");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > params.rank()) {
    return errors::InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                                   params.rank());
  }
  Dims dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
  dims.insert(dims.end(), params.shape().dims().begin() + depth, params.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  const int64_t rows = indices.shape().Product(0, indices.rank() - 1);
  const int64_t inner = params.shape().Product(static_cast<int>(depth), params.rank());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (rows == 0 || inner == 0) return OkStatus();
  if (params.num_elements() == 0) {
    return errors::InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                                   params.shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({rows})));
  RETURN_IF_ERROR(ResolveNdIndices(indices, params.shape(), policy, offsets.flat<int64_t>(), "param shape"));
  const int64_t* offset = offsets.data<int64_t>();
  DispatchBlob(params.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* from = BlobData<T>(params);
    T* to = BlobData<T>(out);
    ctx.ParallelFor(rows, 2.0 + kCopyCost<T> * static_cast<double>(inner), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (offset[i] >= 0)
          CopyRun(from + offset[i] * inner, inner, to + i * inner);
        else
          std::fill_n(to + i * inner, inner, T{});
      }
    });
  });
  return OkStatus();
}

namespace {

class GatherNdKernel : public Kernel {
 public:
  explicit GatherNdKernel(KernelInit& init) { init.Check(ReadBadIndexPolicy(init.attrs(), &policy_)); }

  Status Compute(KernelContext& ctx) override { return GatherNdSlices(ctx, ctx.input(0), ctx.input(1), policy_); }

 private:
  BadIndex policy_ = BadIndex::kError;
};

Status GatherNdShape(ShapeContext& c) {
  const PartialShape& params = c.input(0);
  PartialShape indices;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &indices));
  if (!params.rank_known() || !indices.rank_known()) return OkStatus();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return OkStatus();
  if (depth > params.rank()) {
    return errors::InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                                   indices.ToString(), " and params shape: ", params.ToString());
  }
  c.set_output(0,
               indices.Slice(0, indices.rank() - 1).Concatenate(params.Slice(static_cast<int>(depth), params.rank())));
  return OkStatus();
}

Output WideIndices(const GradContext& g, Output indices) {
  return indices.dtype() == DType::kInt16 ? g.Op("Cast", {indices}, {{"DstT", DType::kInt32}}) : indices;
}

Status GatherNdGrad(GradContext& g) {
  const Output indices = WideIndices(g, g.input(1));
  RETURN_IF_ERROR(g.status());
  const PartialShape shape = g.scope().ShapeOf(indices);
  const Output params_shape = ShapeOf(g, g.input(0), indices.dtype());
  if (shape.rank() == 2 && shape.dim(1) == 1) {
    const Output rows = g.Op("Squeeze", {indices}, {{"squeeze_dims", std::vector<int64_t>{-1}}});
    g.set_dx(0, Grad::Slices(g.dy(0), rows, params_shape));
  } else {
    g.set_dx(0, g.Op("ScatterNd", {indices, g.dy(0), params_shape}));
  }
  return OkStatus();
}

OP("GatherNd")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Output("output: Tparams")
    .Attr("Tparams: type")
    .Attr("Tindices: {int16, int32, int64}")
    .Attr("bad_indices_policy: string = ''")
    .Shape(GatherNdShape)
    .Gradient(GatherNdGrad)
    .Cpu<GatherNdKernel>()
    .Doc("Slices of params at the positions that the last dimension of indices spells out.");

}  // namespace
}  // namespace millstream
