// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/cast_plan.h"
#include "millstream/ops/elements/product.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// A product of dense matrices, of which the caller says that one has many zeros. Ours is fast without looking.
class SparseMatMul : public Kernel {
 public:
  explicit SparseMatMul(KernelInit& init)
      : transpose_a_(init.Attr<bool>("transpose_a")), transpose_b_(init.Attr<bool>("transpose_b")) {}

  Status Compute(KernelContext& ctx) override {
    Tensor a, b;
    RETURN_IF_ERROR(Operand(ctx, 0, &a));
    RETURN_IF_ERROR(Operand(ctx, 1, &b));
    ProductArgs p;
    p.m = a.dim(transpose_a_ ? 1 : 0);
    p.k = a.dim(transpose_a_ ? 0 : 1);
    p.n = b.dim(transpose_b_ ? 0 : 1);
    if (p.k != b.dim(transpose_b_ ? 1 : 0)) {
      return errors::InvalidArgument("Matrix size incompatible: a: ", a.shape().ToString(),
                                     ", b: ", b.shape().ToString());
    }
    const std::vector<int64_t> dims{p.m, p.n};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (p.k == 0) {
      std::fill_n(out->data<float>(), shape.num_elements(), 0.0f);
      return OkStatus();
    }
    p.transpose_a = transpose_a_;
    p.transpose_b = transpose_b_;
    return MultiplyMatrices(ctx, a, b, p, out);
  }

 private:
  static Status Operand(KernelContext& ctx, int i, Tensor* operand) {
    const Tensor& in = ctx.input(i);
    if (in.rank() != 2) return errors::InvalidArgument(i == 0 ? "a" : "b", " is not a matrix");
    *operand = in;
    if (in.dtype() == DType::kFloat) return OkStatus();
    ASSIGN_OR_RETURN(*operand, ctx.AllocateTemp(DType::kFloat, in.shape()));
    CastPlan::Make(in.dtype(), DType::kFloat, false).Run(in.raw(), operand->raw(), in.num_elements());
    return OkStatus();
  }

  const bool transpose_a_, transpose_b_;
};

Status SparseMatMulGrad(GradContext& g) {
  const auto ta = g.Attr<bool>("transpose_a"), tb = g.Attr<bool>("transpose_b");
  const Output a = g.input(0), b = g.input(1), dy = g.dy(0);
  const auto product = [&](Output x, Output y, bool tx, bool ty, DType type) {
    const Output z = g.Op("SparseMatMul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
    return type == DType::kFloat ? z : g.Op("Cast", {z}, {{"DstT", type}});
  };
  g.set_dx(0, ta ? product(b, dy, tb, true, a.dtype()) : product(dy, b, false, !tb, a.dtype()));
  g.set_dx(1, tb ? product(dy, a, true, ta, b.dtype()) : product(a, dy, !ta, false, b.dtype()));
  return g.status();
}

OP("SparseMatMul")
    .Input("a: Ta")
    .Input("b: Tb")
    .Output("product: float")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("a_is_sparse: bool = false")
    .Attr("b_is_sparse: bool = false")
    .Attr("Ta: {float, bfloat16} = DT_FLOAT")
    .Attr("Tb: {float, bfloat16} = DT_FLOAT")
    .Shape(MatMulShape)
    .Gradient(SparseMatMulGrad)
    .Cpu<SparseMatMul>()
    .Expensive()
    .Doc("The product of two matrices that may hold many zeros.");

}  // namespace
}  // namespace millstream
