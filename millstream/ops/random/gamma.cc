// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables" (2000): squeezes and rejects functions of pairs
// of a normal and a uniform number.
class GammaSampler {
 public:
  explicit GammaSampler(double alpha)
      : alpha_(alpha), small_(alpha < 1), d_(alpha + (small_ ? 2.0 / 3 : -1.0 / 3)), c_(1.0 / 3 / std::sqrt(d_)) {}

  double Sample(Draws draws) const {
    if (!(alpha_ >= 0)) return std::numeric_limits<double>::quiet_NaN();  // no number would ever be accepted
    if (alpha_ == 1) return -std::log1p(-draws.Uniform());
    while (true) {
      const double x = draws.Normal();
      double v = 1 + c_ * x;
      if (v <= 0) continue;
      v = v * v * v;
      const double u = draws.Uniform();
      if (!(u < 1 - 0.0331 * (x * x) * (x * x)) && !(std::log(u) < 0.5 * x * x + d_ * (1 - v + std::log(v)))) continue;
      return small_ ? d_ * v * std::pow(draws.Uniform(), 1 / alpha_) : d_ * v;
    }
  }

 private:
  const double alpha_;
  const bool small_;
  const double d_, c_;
};

// `out` is [samples, alphas]; the streams of an alpha's samples follow each other.
template <typename T>
void FillGamma(const KernelContext& ctx, const math::Philox& philox, const Tensor& alphas, Tensor* out) {
  const int64_t count = alphas.num_elements(), samples = out->num_elements() / count;
  ctx.ParallelFor(count * samples, 150, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t a = i / samples, s = i % samples;
      const GammaSampler sampler(static_cast<double>(static_cast<Compute<T>>(alphas.data<T>()[a])));
      out->data<T>()[s * count + a] = static_cast<T>(sampler.Sample(Draws(philox, i)));
    }
  });
}

Status CheckAlphas(const Tensor& alphas) {
  if (alphas.num_elements() > 0) return OkStatus();
  return errors::InvalidArgument("Input alpha should have non-zero element count, got: 0");
}

template <typename T>
class RandomGamma final : public Kernel {
 public:
  explicit RandomGamma(KernelInit& init) : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& alphas = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, ShapeOfSamples(ctx.input(0), alphas));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    FillGamma<T>(ctx, stream_.Reserve(math::ReservedBlocks(shape.num_elements())), alphas, out);
    return OkStatus();
  }

 private:
  math::PhiloxStream stream_;
};

// The shape is that of the output, and ends with that of alpha.
template <typename T, bool kKeyed>
Status StatelessGamma(KernelContext& ctx) {
  const Tensor& alphas = ctx.input(kKeyed ? 4 : 2);
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
  ASSIGN_OR_RETURN(const math::Philox philox, kKeyed ? GeneratorFromKey(ctx) : GeneratorFromSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  const int extra = shape.rank() - alphas.rank();
  bool ends = extra >= 0;
  for (int d = 0; ends && d < alphas.rank(); ++d) ends = alphas.dim(d) == shape.dim(extra + d);
  if (!ends) return errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
  RETURN_IF_ERROR(CheckAlphas(alphas));
  FillGamma<T>(ctx, philox, alphas, out);
  return OkStatus();
}
template <typename T>
class SeededGamma final : public Kernel {
 public:
  explicit SeededGamma(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return StatelessGamma<T, false>(ctx); }
};
template <typename T>
class KeyedGamma final : public Kernel {
 public:
  explicit KeyedGamma(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return StatelessGamma<T, true>(ctx); }
};

// How a sample moves with alpha, summed over the samples of each alpha: the leading dimensions of the output.
Status AlphaGradient(GradContext& g, int alpha_input) {
  const Output alpha = g.input(alpha_input), sample = g.output(0);
  const auto rank = [&](Output x) { return g.Op("Rank", {x}); };
  const Output leading = g.Op("Sub", {rank(sample), rank(alpha)});
  const Output by_alpha = g.Op("RandomGammaGrad", {alpha, sample});
  const Output axes = g.Op("Range", {g.ConstLike(leading, 0), leading, g.ConstLike(leading, 1)});
  g.set_dx(alpha_input, g.Op("Sum", {g.Op("Mul", {g.dy(0), by_alpha}), axes}));
  return g.status();
}
Status GammaGradient(GradContext& g) { return AlphaGradient(g, 1); }
Status SeededGradient(GradContext& g) { return AlphaGradient(g, 2); }
Status KeyedGradient(GradContext& g) { return AlphaGradient(g, 4); }

using GammaTypes = Types<Half, float, double>;

OP("RandomGamma")
    .Input("shape: S")
    .Input("alpha: T")
    .Output("output: T")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("S: {int32, int64}")
    .Attr("T: {half, float, double}")
    .Stateful()
    .Shape(SamplesShape)
    .Gradient(GammaGradient)
    .Cpu<RandomGamma>(GammaTypes{})
    .HostMemory("shape")
    .Doc("Samples of gamma distributions with the parameters alpha, for each a block of the given shape.");

OP("StatelessRandomGammaV2")
    .Input("shape: T")
    .Input("seed: Tseed")
    .Input("alpha: dtype")
    .Output("output: dtype")
    .Attr("dtype: {half, float, double}")
    .Attr("T: {int32, int64}")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Shape(SeededShape)
    .Gradient(SeededGradient)
    .Cpu<SeededGamma>(GammaTypes{}, "dtype")
    .HostMemory("shape")
    .HostMemory("seed")
    .Doc("Samples of gamma distributions that depend on nothing but `seed`.");

OP("StatelessRandomGammaV3")
    .Input("shape: shape_dtype")
    .Input("key: uint64")
    .Input("counter: uint64")
    .Input("alg: int32")
    .Input("alpha: dtype")
    .Output("output: dtype")
    .Attr("dtype: {half, float, double}")
    .Attr("shape_dtype: {int32, int64} = DT_INT32")
    .Shape(KeyedShape)
    .Gradient(KeyedGradient)
    .Cpu<KeyedGamma>(GammaTypes{}, "dtype")
    .HostMemory("shape")
    .HostMemory("alg")
    .Doc("Samples of gamma distributions that depend on nothing but key and counter of the generator.");

}  // namespace
}  // namespace millstream
