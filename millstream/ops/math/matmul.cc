// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/product.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/fused_ops.h"

namespace millstream {

Status MatMulShape(ShapeContext& c) {
  bool transpose_a = false, transpose_b = false;
  RETURN_IF_ERROR(c.GetAttr("transpose_a", &transpose_a));
  RETURN_IF_ERROR(c.GetAttr("transpose_b", &transpose_b));
  PartialShape a, b;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &a));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &b));
  int64_t inner = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0), &inner));
  c.set_output(0, PartialShape({a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)}));
  return OkStatus();
}

namespace {

struct MatMulSizes {
  int64_t m, n, k;
};

StatusOr<MatMulSizes> CheckSizes(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  for (int i = 0; i < 2; ++i) {
    const Tensor& t = i == 0 ? a : b;
    if (t.rank() == 2) continue;
    return errors::InvalidArgument("In[", i, "] is not a matrix. Instead it has shape ", t.shape().ToString());
  }
  const int64_t k = a.dim(transpose_a ? 0 : 1);
  if (k != b.dim(transpose_b ? 1 : 0)) {
    return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                                   ", In[1]: ", b.shape().ToString());
  }
  return MatMulSizes{a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1), k};
}

class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(KernelInit& init)
      : transpose_a_(init.Attr<bool>("transpose_a")), transpose_b_(init.Attr<bool>("transpose_b")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const MatMulSizes s, CheckSizes(a, b, transpose_a_, transpose_b_));
    const int64_t dims[] = {s.m, s.n};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * c, ctx.AllocateOutput(0, shape));
    ProductArgs p;
    p.m = s.m, p.n = s.n, p.k = s.k;
    p.transpose_a = transpose_a_, p.transpose_b = transpose_b_;
    return MultiplyMatrices(ctx, a, b, p, c);
  }

 private:
  const bool transpose_a_, transpose_b_;
};

// MatMul with what follows it: BiasAdd, and then Relu or Relu6.
class FusedMatMulKernel final : public Kernel {
 public:
  explicit FusedMatMulKernel(KernelInit& init)
      : transpose_a_(init.Attr<bool>("transpose_a")),
        transpose_b_(init.Attr<bool>("transpose_b")),
        activation_(FusedActivation(init)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1), &bias = ctx.input(2);
    ASSIGN_OR_RETURN(const MatMulSizes s, CheckSizes(a, b, transpose_a_, transpose_b_));
    if (bias.rank() != 1 || bias.dim(0) != s.n) {
      return errors::InvalidArgument("Must provide as many biases as the last dimension of the input tensor: ",
                                     bias.shape().ToString(), " vs. ", s.n);
    }
    const int64_t dims[] = {s.m, s.n};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * c, ctx.AllocateOutput(0, shape));
    ProductArgs p;
    p.m = s.m, p.n = s.n, p.k = s.k;
    p.transpose_a = transpose_a_, p.transpose_b = transpose_b_;
    p.bias = &bias, p.activation = activation_;
    return MultiplyMatrices(ctx, a, b, p, c);
  }

 private:
  const bool transpose_a_, transpose_b_;
  const math::Activation activation_;
};

Status MatMulGrad(GradContext& g) {
  const GradMath math(g);
  const auto ta = g.Attr<bool>("transpose_a"), tb = g.Attr<bool>("transpose_b");
  const Output a = math.Conj(g.input(0)), b = math.Conj(g.input(1)), dy = g.dy(0);
  const auto product = [&](Output x, Output y, bool tx, bool ty) {
    return g.Op("MatMul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  g.set_dx(0, ta ? product(b, dy, tb, true) : product(dy, b, false, !tb));
  g.set_dx(1, tb ? product(dy, a, true, ta) : product(a, dy, !ta, false));
  return g.status();
}

using MatMulTypes = Join<FloatComplexTypes, Types<int16_t, int32_t, int64_t>>;

OP("MatMul")
    .Input("a: T")
    .Input("b: T")
    .Output("product: T")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr(
        "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, "
        "complex128}")
    .Attr("grad_a: bool = false")
    .Attr("grad_b: bool = false")
    .Shape(MatMulShape)
    .Gradient(MatMulGrad)
    .CpuFor<MatMulKernel>(MatMulTypes{})
    .Expensive()
    .Doc("The product of two matrices, each transposed first if asked.");

OP("_FusedMatMul")
    .Input("a: T")
    .Input("b: T")
    .Input("args: num_args * T")
    .Output("product: T")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("T: {bfloat16, half, float}")
    .Attr("num_args: int >= 0")
    .Attr("fused_ops: list(string) = []")
    .Attr("epsilon: float = 0.0001")
    .Attr("leakyrelu_alpha: float = 0.2")
    .Shape(MatMulShape)
    .CpuFor<FusedMatMulKernel>(Types<Half, BFloat16, float>{})
    .Expensive()
    .Doc("MatMul, then BiasAdd, then Relu or Relu6 if asked, in one pass. Made by graph rewriting.");

}  // namespace
}  // namespace millstream
