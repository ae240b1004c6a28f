// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "millstream/framework/no_kernel.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/elements/cast_plan.h"
#include "millstream/ops/elements/product.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/matrix_batch.h"

namespace millstream {
namespace {

// Products of the matrices in the last two dimensions. V2 broadcasts the others, V1 wants them equal.
template <bool broadcasts>
class BatchMatMulKernel final : public Kernel {
 public:
  explicit BatchMatMulKernel(KernelInit& init) : adj_x_(init.Attr<bool>("adj_x")), adj_y_(init.Attr<bool>("adj_y")) {
    const DType x = RemoveRef(init.input_types()[0]), y = RemoveRef(init.input_types()[1]);
    if (x == y && !init.HasAttr("Tout")) return;
    const auto out = init.Attr<DType>("Tout");
    if ((x == y && x == out) || Multiplies(x, y, out)) return;
    init.Fail(NoKernel(init, "there is no product of ", DTypeName(x), " and ", DTypeName(y), " into ", DTypeName(out)));
  }

  Status Compute(KernelContext& ctx) override {
    Tensor x, y;
    RETURN_IF_ERROR(Operand(ctx, 0, &x));
    RETURN_IF_ERROR(Operand(ctx, 1, &y));
    ASSIGN_OR_RETURN(const Shape batch, JointBatch(x, y, broadcasts));
    ProductArgs p;
    p.m = x.dim(x.rank() - (adj_x_ ? 1 : 2));
    p.k = x.dim(x.rank() - (adj_x_ ? 2 : 1));
    p.n = y.dim(y.rank() - (adj_y_ ? 2 : 1));
    if (y.dim(y.rank() - (adj_y_ ? 1 : 2)) != p.k) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", x.shape().ToString(),
                                     ", In[1]: ", y.shape().ToString());
    }
    std::vector<int64_t> dims(batch.dims().begin(), batch.dims().end());
    dims.push_back(p.m);
    dims.push_back(p.n);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    p.transpose_a = p.conjugate_a = adj_x_;
    p.transpose_b = p.conjugate_b = adj_y_;
    p.batch = batch.num_elements();
    p.stride_c = p.m * p.n;
    const Shape x_batch = BatchShape(x.shape()), y_batch = BatchShape(y.shape());
    if (y_batch.num_elements() == 1 && !adj_x_) {  // one matrix for all: its products are one product
      p.m *= p.batch;
      p.batch = 1;
      return MultiplyMatrices(ctx, x, y, p, out);
    }
    const BroadcastMap x_map(x_batch, batch), y_map(y_batch, batch);
    if ((x_map.full() || x_map.scalar()) && (y_map.full() || y_map.scalar())) {
      p.stride_a = x_map.full() ? p.m * p.k : 0;
      p.stride_b = y_map.full() ? p.k * p.n : 0;
      return MultiplyMatrices(ctx, x, y, p, out);
    }
    std::vector<int64_t> x_offsets(p.batch), y_offsets(p.batch);
    for (int64_t i = 0; i < p.batch; ++i) {
      x_offsets[i] = x_map.Offset(i) * p.m * p.k;
      y_offsets[i] = y_map.Offset(i) * p.k * p.n;
    }
    p.offsets_a = x_offsets.data();
    p.offsets_b = y_offsets.data();
    return MultiplyMatrices(ctx, x, y, p, out);
  }

 private:
  // Whether there is a product of types that are not all the same.
  static bool Multiplies(DType x, DType y, DType out) {
    const auto byte = [](DType t) { return t == DType::kInt8 || t == DType::kUint8; };
    if (out == DType::kInt32) return byte(x) && byte(y);
    return out == DType::kBfloat16 && (x == out || byte(x)) && (y == out || byte(y)) && x != y &&
           (x == out || y == out);
  }

  // Input i in the type of the result: V3 also multiplies small integers into larger ones.
  static Status Operand(KernelContext& ctx, int i, Tensor* operand) {
    const Tensor& in = ctx.input(i);
    *operand = in;
    const DType type = ctx.output_dtype(0);
    if (in.dtype() == type) return OkStatus();
    ASSIGN_OR_RETURN(*operand, ctx.AllocateTemp(type, in.shape()));
    const CastPlan plan = CastPlan::Make(in.dtype(), type, false);
    if (!plan.supported()) {
      return errors::Unimplemented("There is no product of ", DTypeName(in.dtype()), " into ", DTypeName(type));
    }
    plan.Run(in.raw(), operand->raw(), in.num_elements());
    return OkStatus();
  }

  const bool adj_x_, adj_y_;
};

Status ProductShape(ShapeContext& c, bool broadcasts) {
  bool adj_x = false, adj_y = false;
  RETURN_IF_ERROR(c.GetAttr("adj_x", &adj_x));
  RETURN_IF_ERROR(c.GetAttr("adj_y", &adj_y));
  PartialShape x, y;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &x));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 2, &y));
  if (!x.rank_known() || !y.rank_known()) return OkStatus();
  int64_t inner = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(x.dim(x.rank() - (adj_x ? 2 : 1)), y.dim(y.rank() - (adj_y ? 1 : 2)), &inner));
  const PartialShape a = x.Slice(0, x.rank() - 2), b = y.Slice(0, y.rank() - 2);
  ASSIGN_OR_RETURN(const PartialShape batch, broadcasts ? ShapeContext::Broadcast(a, b) : a.MergeWith(b));
  const PartialShape matrix({x.dim(x.rank() - (adj_x ? 1 : 2)), y.dim(y.rank() - (adj_y ? 2 : 1))});
  c.set_output(0, batch.Concatenate(matrix));
  return OkStatus();
}
Status BatchMatMulShape(ShapeContext& c) { return ProductShape(c, false); }
Status BatchMatMulV2Shape(ShapeContext& c) { return ProductShape(c, true); }

struct Products {
  Output gx, gy;
};
Products Gradients(GradContext& g) {
  const auto adj_x = g.Attr<bool>("adj_x"), adj_y = g.Attr<bool>("adj_y");
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  const auto product = [&](Output a, Output b, bool adj_a, bool adj_b) {
    const auto type = g.node().type() == "BatchMatMul" ? "BatchMatMul" : "BatchMatMulV2";
    return g.Op(type, {a, b}, {{"adj_x", adj_a}, {"adj_y", adj_b}});
  };
  return {adj_x ? product(y, dz, adj_y, true) : product(dz, y, false, !adj_y),
          adj_y ? product(dz, x, true, adj_x) : product(x, dz, !adj_x, false)};
}

Status BatchMatMulGrad(GradContext& g) {
  const Products p = Gradients(g);
  g.set_dx(0, p.gx);
  g.set_dx(1, p.gy);
  return g.status();
}

Status BatchMatMulV2Grad(GradContext& g) {
  const GradMath m(g);
  const Products p = Gradients(g);
  const Output x = g.input(0), y = g.input(1);
  const PartialShape sx = g.scope().ShapeOf(x), sy = g.scope().ShapeOf(y);
  if (sx.rank_known() && sx.rank() == sy.rank()) {
    const PartialShape a = sx.Slice(0, sx.rank() - 2), b = sy.Slice(0, sy.rank() - 2);
    if (a.IsFullyDefined() && a == b) {
      g.set_dx(0, p.gx);
      g.set_dx(1, p.gy);
      return g.status();
    }
  }
  const Scope& s = g.scope();
  const auto batch = [&](Output shape) {
    return g.Op("StridedSlice", {shape, s.Constant({0}), s.Constant({-2}), s.Constant({1})}, {{"begin_mask", 1}});
  };
  const Output x_shape = m.Shape(x), y_shape = m.Shape(y);
  Node* axes = g.Add("BroadcastGradientArgs", {batch(x_shape), batch(y_shape)});
  if (axes == nullptr) return g.status();
  g.set_dx(0, g.Op("Reshape", {g.Op("Sum", {p.gx, Output(axes, 0)}), x_shape}));
  g.set_dx(1, g.Op("Reshape", {g.Op("Sum", {p.gy, Output(axes, 1)}), y_shape}));
  return g.status();
}

using V1Types = Join<FloatComplexTypes, Types<int32_t, int64_t>>;
using V2Types = Join<FloatComplexTypes, Types<int16_t, int32_t, int64_t>>;

OP("BatchMatMul")
    .Input("x: T")
    .Input("y: T")
    .Output("output: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Attr("adj_x: bool = false")
    .Attr("adj_y: bool = false")
    .Attr("grad_x: bool = false")
    .Attr("grad_y: bool = false")
    .Shape(BatchMatMulShape)
    .Gradient(BatchMatMulGrad)
    .CpuFor<BatchMatMulKernel<false>>(V1Types{})
    .Expensive()
    .Doc("Products of the matrices in the last two dimensions; the others must be equal.");

OP("BatchMatMulV2")
    .Input("x: T")
    .Input("y: T")
    .Output("output: T")
    .Attr(
        "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, "
        "complex64, complex128}")
    .Attr("adj_x: bool = false")
    .Attr("adj_y: bool = false")
    .Attr("grad_x: bool = false")
    .Attr("grad_y: bool = false")
    .Shape(BatchMatMulV2Shape)
    .Gradient(BatchMatMulV2Grad)
    .CpuFor<BatchMatMulKernel<true>>(V2Types{})
    .Expensive()
    .Doc("Products of the matrices in the last two dimensions; the others broadcast.");

OP("BatchMatMulV3")
    .Input("x: Ta")
    .Input("y: Tb")
    .Output("output: Tout")
    .Attr("Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}")
    .Attr("Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}")
    .Attr("Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}")
    .Attr("adj_x: bool = false")
    .Attr("adj_y: bool = false")
    .Attr("grad_x: bool = false")
    .Attr("grad_y: bool = false")
    .Shape(BatchMatMulV2Shape)
    .Gradient(BatchMatMulV2Grad)
    .CpuFor<BatchMatMulKernel<true>>(V2Types{}, "Tout")
    .Expensive()
    .Doc("As BatchMatMulV2, also of small integers into larger ones.");

}  // namespace
}  // namespace millstream
