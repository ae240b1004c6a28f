// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/simd.h"
#include "millstream/math/vector_math.h"
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

  // Channels beyond the others of a pixel add nothing.
  int64_t RadiusWithin(int64_t depth) const { return std::min(radius, depth); }
};

// Vectors by hand: sums stay in registers while windows are added up.
constexpr int64_t kLanes = 16;
using Vector __attribute__((vector_size(kLanes * sizeof(float)))) = float;

// Sums over windows of channels, for one pixel after the other. The values lie between zeros, so that every window is
// whole and all channels are summed at once; each sum is made anew, as a running sum would lose precision.
class Windows {
 public:
  Windows(int64_t depth, int64_t radius)
      : depth_(depth), radius_(radius), padded_(static_cast<size_t>(depth + 2 * radius), 0.0f) {}

  float* values() { return padded_.data() + radius_; }
  MILLSTREAM_ALWAYS_INLINE static void Sum(const float* values, int64_t depth, int64_t radius, float* sums) {
    const float* from = values - radius;
    for (int64_t first = 0; first < depth && depth >= kLanes; first += kLanes) {
      const int64_t c = std::min(first, depth - kLanes);  // the last vector may do again what is done
      Vector sum = {};
      for (int64_t k = 0; k <= 2 * radius; ++k) {
        Vector x;
        std::memcpy(&x, from + c + k, sizeof(x));
        sum += x;
      }
      std::memcpy(sums + c, &sum, sizeof(sum));
    }
    for (int64_t c = 0; c < depth && depth < kLanes; ++c) {
      float sum = 0;
      for (int64_t k = 0; k <= 2 * radius; ++k) sum += from[c + k];
      sums[c] = sum;
    }
  }
  int64_t depth() const { return depth_; }
  int64_t radius() const { return radius_; }

 private:
  const int64_t depth_, radius_;
  std::vector<float> padded_;
};

// norms[c] = bias + alpha * (sum of the squares of x near c); `squares` are the values of Windows.
MILLSTREAM_ALWAYS_INLINE void Norms(const float* x, int64_t depth, int64_t radius, float bias, float alpha,
                                    float* squares, float* norms) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t c = 0; c < depth; ++c) squares[c] = x[c] * x[c];
  Windows::Sum(squares, depth, radius, norms);
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t c = 0; c < depth; ++c) norms[c] = bias + alpha * norms[c];
}

// x^-beta, by roots for the values of beta that networks use.
enum class NormRoot { kNone, kSquare, kFourth };
NormRoot RootFor(float beta) {
  return beta == 0.5f ? NormRoot::kSquare : beta == 0.75f ? NormRoot::kFourth : NormRoot::kNone;
}

template <NormRoot root>
MILLSTREAM_ALWAYS_INLINE float InversePower(float x, float beta) {
  if constexpr (root == NormRoot::kSquare) return 1.0f / std::sqrt(x);
  if constexpr (root == NormRoot::kFourth) {
    const float square = std::sqrt(x);
    return 1.0f / (square * std::sqrt(square));
  }
  return beta == 0.0f ? 1.0f : math::Exp(-beta * math::Log(x));
}

// Calls fn.operator()<root>() with the fitting one.
template <typename Fn>
void WithRoot(float beta, Fn fn) {
  const NormRoot root = RootFor(beta);
  if (root == NormRoot::kSquare) return fn.template operator()<NormRoot::kSquare>();
  if (root == NormRoot::kFourth) return fn.template operator()<NormRoot::kFourth>();
  fn.template operator()<NormRoot::kNone>();
}

double CostPerPixel(const LrnAttrs& a, int64_t depth) {
  const auto window = static_cast<double>(std::min(depth, 2 * a.radius + 1));
  return static_cast<double>(depth) * (2 + 0.1 * window);
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
      Windows windows(depth, attrs_.RadiusWithin(depth));
      WithRoot(attrs_.beta,
               [&]<NormRoot root>() { Pixels<root>(x + begin * depth, end - begin, &windows, y + begin * depth); });
    });
    StoreFloat(ctx, result, out);
    return OkStatus();
  }

 private:
  template <NormRoot root>
  void Pixels(const float* x, int64_t pixels, Windows* windows, float* y) const {
    const int64_t depth = windows->depth(), radius = windows->radius();
    const float bias = attrs_.bias, alpha = attrs_.alpha, beta = attrs_.beta;
    float* squares = windows->values();
    simd::Run<float>([=]() MILLSTREAM_INLINE_LAMBDA {
      for (int64_t i = 0; i < pixels * depth; i += depth) {
        const float* from = x + i;
        float* to = y + i;
        Norms(from, depth, radius, bias, alpha, squares, to);
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t c = 0; c < depth; ++c) to[c] = from[c] * InversePower<root>(to[c], beta);
      }
    });
  }

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
      const int64_t i = begin * depth;
      WithRoot(attrs_.beta, [&]<NormRoot root>() {
        Pixels<root>(g.data<float>() + i, x.data<float>() + i, y.data<float>() + i, depth, end - begin,
                     dx.data<float>() + i);
      });
    };
    ctx.ParallelFor(grad.num_elements() / depth, 2 * CostPerPixel(attrs_, depth), range);
    StoreFloat(ctx, dx, out);
    return OkStatus();
  }

 private:
  template <NormRoot root>
  void Pixels(const float* g, const float* x, const float* y, int64_t depth, int64_t pixels, float* dx) const {
    const int64_t radius = attrs_.RadiusWithin(depth);
    Windows squared(depth, radius), shared(depth, radius);
    std::vector<float> norms_of_pixel(static_cast<size_t>(depth));
    float *squares = squared.values(), *shares = shared.values(), *norms = norms_of_pixel.data();
    const float bias = attrs_.bias, alpha = attrs_.alpha, beta = attrs_.beta, factor = -2.0f * alpha * beta;
    simd::Run<float>([=]() MILLSTREAM_INLINE_LAMBDA {
      for (int64_t i = 0; i < pixels * depth; i += depth) {
        const float *grad = g + i, *image = x + i, *result = y + i;
        float* to = dx + i;
        Norms(image, depth, radius, bias, alpha, squares, norms);
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t c = 0; c < depth; ++c) shares[c] = factor * result[c] / norms[c] * grad[c];
        Windows::Sum(shares, depth, radius, to);
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t c = 0; c < depth; ++c) to[c] = to[c] * image[c] + InversePower<root>(norms[c], beta) * grad[c];
      }
    });
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
