// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/scatter_nd.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

// A copy of the input (or the input itself, if nobody else needs it) with updates at some positions.
template <NdUpdate update>
class TensorScatter : public Kernel {
 public:
  explicit TensorScatter(KernelInit& init) { init.Check(ReadBadIndexPolicy(init.attrs(), &policy_)); }

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &indices = ctx.input(1), &updates = ctx.input(2);
    if (in.rank() < 1) {
      return errors::InvalidArgument("Output must be at least 1-D, got shape: ", in.shape().ToString());
    }
    if (in.num_elements() == 0 && (indices.num_elements() != 0 || updates.num_elements() != 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output shape");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
    if (out->raw() != in.raw()) {
      DispatchBlob(in.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        ParallelCopy(ctx, BlobData<T>(in), in.num_elements(), BlobData<T>(out));
      });
    }
    return ScatterNdInto(ctx, update, indices, updates, policy_, out);
  }

 private:
  BadIndex policy_ = BadIndex::kError;
};

Status TensorScatterShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckNdUpdateShapes(c, c.input(0)));
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status UpdateGrad(GradContext& g) {
  const Output dy = g.dy(0), indices = g.input(1);
  g.set_dx(0, g.Op("TensorScatterUpdate", {dy, indices, g.Op("ZerosLike", {g.input(2)})}));
  g.set_dx(2, g.Op("GatherNd", {dy, indices}));
  return g.status();
}
Status AddGrad(GradContext& g) {
  g.set_dx(0, g.dy(0));
  g.set_dx(2, g.Op("GatherNd", {g.dy(0), g.input(1)}));
  return g.status();
}
Status SubGrad(GradContext& g) {
  g.set_dx(0, g.dy(0));
  g.set_dx(2, g.Op("Neg", {g.Op("GatherNd", {g.dy(0), g.input(1)})}));
  return g.status();
}
// Divided among the elements that reach the extreme.
Status ExtremeGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), indices = g.input(1), y = g.input(2), z = g.output(0), dy = g.dy(0);
  const auto policy = g.Attr<std::string>("bad_indices_policy");
  const auto gather = [&](Output from) { return g.Op("GatherNd", {from, indices}, {{"bad_indices_policy", policy}}); };
  const auto marks = [&](Output a, Output b) { return g.Op("Cast", {g.Op("Equal", {a, b})}, {{"DstT", dy.dtype()}}); };
  const Output from_x = marks(x, z), from_y = marks(y, gather(z));
  const Output count = m.Add(
      from_x, g.Op("ScatterNd", {indices, from_y, ShapeOf(g, x, indices.dtype())}, {{"bad_indices_policy", policy}}));
  const Output share = m.Div(dy, count);
  g.set_dx(0, m.Mul(share, from_x));
  g.set_dx(2, m.Mul(gather(share), from_y));
  return g.status();
}

OP("TensorScatterUpdate")
    .Input("tensor: T")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tindices: {int16, int32, int64, uint16}")
    .Attr("bad_indices_policy: string = ''")
    .Shape(TensorScatterShape)
    .Gradient(UpdateGrad)
    .CpuFor<TensorScatter<NdUpdate::kAssign>>(Types<int32_t, int64_t>{}, "Tindices")
    .Doc("The tensor with the slices that indices points at replaced by updates.");

#define TENSOR_SCATTER(Name, types, grad, doc)           \
  OP("TensorScatter" #Name)                              \
      .Input("tensor: T")                                \
      .Input("indices: Tindices")                        \
      .Input("updates: T")                               \
      .Output("output: T")                               \
      .Attr("T: type")                                   \
      .Attr("Tindices: {int32, int64}")                  \
      .Attr("bad_indices_policy: string = ''")           \
      .Shape(TensorScatterShape)                         \
      .Gradient(grad)                                    \
      .CpuFor<TensorScatter<NdUpdate::k##Name>>(types{}) \
      .Doc("The tensor with updates " doc " the slices that indices points at.")

TENSOR_SCATTER(Add, NumberTypes, AddGrad, "added to");
TENSOR_SCATTER(Sub, NumberTypes, SubGrad, "subtracted from");
TENSOR_SCATTER(Min, RealTypes, ExtremeGrad, "lowering");
TENSOR_SCATTER(Max, RealTypes, ExtremeGrad, "raising");
#undef TENSOR_SCATTER

OP("ScatterNdNonAliasingAdd")
    .Input("input: T")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Output("output: T")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
        "qint16, quint16, uint16, complex128, half, uint32, uint64, bool}")
    .Attr("Tindices: {int32, int64}")
    .Attr("bad_indices_policy: string = ''")
    .Shape(TensorScatterShape)
    .Gradient(AddGrad)
    .CpuFor<TensorScatter<NdUpdate::kAdd>>(NumberAndBoolTypes{})
    .Doc("As TensorScatterAdd.");

}  // namespace
}  // namespace millstream
