// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/gradients/relative.h"

namespace millstream {
namespace {

// Local response normalisation: each value is divided by norm^beta, where norm = bias + alpha * (the sum of squares of
// the channels at most `radius` away).
struct LrnAttrs {
  int64_t radius;
  float bias, alpha, beta;

  explicit LrnAttrs(KernelInit& init)
      : radius(init.Attr<int64_t>("depth_radius")),
        bias(init.Attr<float>("bias")),
        alpha(init.Attr<float>("alpha")),
        beta(init.Attr<float>("beta")) {
    if (radius < 0) init.Fail(errors::InvalidArgument("depth_radius must not be negative: ", radius));
    if (radius > INT32_MAX) init.Fail(errors::InvalidArgument("depth_radius = ", radius, " larger than int max"));
  }

  // The channels near `c`, of `depth`.
  int64_t First(int64_t c) const { return std::max<int64_t>(0, c - radius); }
  int64_t Last(int64_t c, int64_t depth) const { return std::min(depth, c + radius + 1); }

  // Sets norms[c] for the channels of one pixel. Sums anew for each channel: a running sum would lose precision.
  void Norms(const float* x, int64_t depth, float* norms) const {
    for (int64_t c = 0; c < depth; ++c) {
      float sum = 0;
      for (int64_t k = First(c), end = Last(c, depth); k < end; ++k) sum += x[k] * x[k];
      norms[c] = bias + alpha * sum;
    }
  }
};

double CostPerPixel(const LrnAttrs& a, int64_t depth) {
  const auto window = static_cast<double>(std::min(depth, 2 * a.radius + 1));
  return static_cast<double>(depth) * (20 + 2 * window);
}

class Lrn final : public Kernel {
 public:
  explicit Lrn(KernelInit& init) : attrs_(init) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 4) {
      return errors::InvalidArgument("in must be 4-dimensional, got shape ", input.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    if (out->num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor wide, AsFloat(ctx, input));
    ASSIGN_OR_RETURN(Tensor result, FloatFor(ctx, out));
    const int64_t depth = input.dim(3);
    const float* x = wide.data<float>();
    float* y = result.data<float>();
    ctx.ParallelFor(input.num_elements() / depth, CostPerPixel(attrs_, depth), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * depth; i < end * depth; i += depth) {
        attrs_.Norms(x + i, depth, y + i);
        for (int64_t c = 0; c < depth; ++c) y[i + c] = x[i + c] * std::pow(y[i + c], -attrs_.beta);
      }
    });
    StoreFloat(ctx, result, out);
    return OkStatus();
  }

 private:
  const LrnAttrs attrs_;
};

// Inputs: gradient, images, what LRN made of them.
class LrnGrad final : public Kernel {
 public:
  explicit LrnGrad(KernelInit& init) : attrs_(init) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &grad = ctx.input(0), &image = ctx.input(1), &output = ctx.input(2);
    if (grad.rank() != 4 || image.shape() != grad.shape() || output.shape() != grad.shape()) {
      return errors::InvalidArgument(
          "input_grads, input_image and output_image should have the same shape of rank 4, "
          "got ",
          grad.shape().ToString(), ", ", image.shape().ToString(), " and ", output.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, grad.shape()));
    if (out->num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, grad));
    ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, image));
    ASSIGN_OR_RETURN(const Tensor y, AsFloat(ctx, output));
    ASSIGN_OR_RETURN(Tensor dx, FloatFor(ctx, out));
    const int64_t depth = grad.dim(3);
    const auto range = [&](int64_t begin, int64_t end) {
      std::vector<float> norms(depth);
      for (int64_t i = begin * depth; i < end * depth; i += depth) {
        Pixel(g.data<float>() + i, x.data<float>() + i, y.data<float>() + i, depth, norms.data(), dx.data<float>() + i);
      }
    };
    ctx.ParallelFor(grad.num_elements() / depth, 2 * CostPerPixel(attrs_, depth), range);
    StoreFloat(ctx, dx, out);
    return OkStatus();
  }

 private:
  void Pixel(const float* g, const float* x, const float* y, int64_t depth, float* norms, float* dx) const {
    attrs_.Norms(x, depth, norms);
    std::fill_n(dx, depth, 0.0f);
    for (int64_t c = 0; c < depth; ++c) {
      const float shared = -2.0f * attrs_.alpha * attrs_.beta * y[c] / norms[c] * g[c];
      for (int64_t k = attrs_.First(c), end = attrs_.Last(c, depth); k < end; ++k) dx[k] += shared * x[k];
      dx[c] += std::pow(norms[c], -attrs_.beta) * g[c];
    }
  }

  const LrnAttrs attrs_;
};

Status LrnShape(ShapeContext& c) {
  PartialShape image;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &image));
  c.set_output(0, std::move(image));
  return OkStatus();
}

Status LrnGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.input(0).MergeWith(c.input(1)));
  ASSIGN_OR_RETURN(shape, shape.MergeWith(c.input(2)));
  RETURN_IF_ERROR(ShapeContext::WithRank(shape, 4, &shape));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status LrnGradient(GradContext& g) {
  g.set_dx(0, Relative(g, "LRNGrad", {g.dy(0), g.input(0), g.output(0)}, {"depth_radius", "bias", "alpha", "beta"}));
  return g.status();
}

OP("LRN")
    .Input("input: T")
    .Output("output: T")
    .Attr("depth_radius: int = 5")
    .Attr("bias: float = 1")
    .Attr("alpha: float = 1")
    .Attr("beta: float = 0.5")
    .Attr("T: {half, bfloat16, float} = DT_FLOAT")
    .Shape(LrnShape)
    .Gradient(LrnGradient)
    .CpuFor<Lrn>(Types<Half, float>{})
    .Expensive()
    .Doc("Local response normalisation: divides by (bias + alpha * sum of squares of near channels)^beta.");

OP("LRNGrad")
    .Input("input_grads: T")
    .Input("input_image: T")
    .Input("output_image: T")
    .Output("output: T")
    .Attr("depth_radius: int = 5")
    .Attr("bias: float = 1")
    .Attr("alpha: float = 1")
    .Attr("beta: float = 0.5")
    .Attr("T: {half, bfloat16, float} = DT_FLOAT")
    .Shape(LrnGradShape)
    .CpuFor<LrnGrad>(Types<Half, float>{})
    .Expensive()
    .Doc("The gradient of LRN.");

}  // namespace
}  // namespace millstream
