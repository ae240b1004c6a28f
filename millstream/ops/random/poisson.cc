// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/random/generator.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Small rates by multiplying uniform numbers (Knuth), others by the transformed rejection of Hormann, "The transformed
// rejection method for generating Poisson random variables" (1993).
class PoissonSampler {
 public:
  explicit PoissonSampler(double rate)
      : rate_(rate),
        limit_(std::exp(-rate)),
        log_rate_(std::log(rate)),
        b_(0.931 + 2.53 * std::sqrt(rate)),
        a_(-0.059 + 0.02483 * b_),
        inverse_alpha_(1.1239 + 1.1328 / (b_ - 3.4)) {}

  // Numbers above `highest` are drawn again. REQUIRES: the rate is finite.
  double Sample(Draws draws, double highest) const { return rate_ < 10 ? Product(draws) : Rejection(draws, highest); }

 private:
  double Product(Draws& draws) const {
    double product = draws.Uniform(), k = 0;
    for (; product > limit_; product *= draws.Uniform()) ++k;
    return k;
  }
  double Rejection(Draws& draws, double highest) const {
    while (true) {
      const double u = draws.Uniform() - 0.5, v = draws.Uniform();
      const double shifted = 0.5 - std::fabs(u);
      const double k = std::floor((2 * a_ / shifted + b_) * u + rate_ + 0.43);
      if (k > highest) continue;
      if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b_ - 2)) return k;
      if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
      int sign = 0;  // std::lgamma writes a global variable
      const double log_v = std::log(v * inverse_alpha_ / (a_ / (shifted * shifted) + b_));
      if (log_v <= -rate_ + k * log_rate_ - lgamma_r(k + 1, &sign)) return k;
    }
  }

  const double rate_, limit_, log_rate_, b_, a_, inverse_alpha_;
};

template <typename T>
double Highest() {
  if constexpr (std::is_same_v<T, Half>)
    return 65504;
  else
    return static_cast<double>(std::numeric_limits<T>::max());
}

// What cannot be drawn: infinite rates give infinity, rates that are no numbers, or so large that no sample fits, as
// much as T has of either.
template <typename T>
T Unusual(double rate) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if constexpr (std::is_integral_v<T>)
    return std::isnan(rate) ? T(0) : std::numeric_limits<T>::max();
  else
    return static_cast<T>(std::isnan(rate) ? rate : kInfinity);
}

// `out` is [samples, rates]; the streams of a rate's samples follow each other.
template <typename T>
void FillPoisson(const KernelContext& ctx, const math::Philox& philox, std::span<const double> rates, Tensor* out) {
  const auto count = static_cast<int64_t>(rates.size());
  const int64_t samples = out->num_elements() / count;
  const double highest = Highest<T>();
  ctx.ParallelFor(count * samples, 250, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = i / samples, s = i % samples;
      T& to = out->data<T>()[s * count + r];
      const bool usual = rates[r] < 0.99 * highest;
      to = usual ? static_cast<T>(PoissonSampler(rates[r]).Sample(Draws(philox, i), highest)) : Unusual<T>(rates[r]);
    }
  });
}

using RateTypes = Types<Half, float, double, int32_t, int64_t>;

Status Fill(const KernelContext& ctx, const math::Philox& philox, const Tensor& rates, Tensor* out) {
  std::vector<double> wide;
  DispatchOver(RateTypes{}, rates.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (const T r : rates.flat<T>()) wide.push_back(static_cast<double>(static_cast<Compute<T>>(r)));
  });
  DispatchOver(RateTypes{}, out->dtype(),
               [&](auto type) { FillPoisson<typename decltype(type)::type>(ctx, philox, wide, out); });
  return OkStatus();
}

class RandomPoisson final : public Kernel {
 public:
  explicit RandomPoisson(KernelInit& init) : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& rates = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, ShapeOfSamples(ctx.input(0), rates));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    return Fill(ctx, stream_.Reserve(math::ReservedBlocks(shape.num_elements())), rates, out);
  }

 private:
  math::PhiloxStream stream_;
};

// The shape is that of the output, and ends with that of the rates.
Status StatelessPoisson(KernelContext& ctx) {
  const Tensor& rates = ctx.input(2);
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
  ASSIGN_OR_RETURN(const math::Philox philox, GeneratorFromSeed(ctx.input(1)));
  const int extra = shape.rank() - rates.rank();
  bool ends = extra >= 0;
  for (int d = 0; ends && d < rates.rank(); ++d) ends = rates.dim(d) == shape.dim(extra + d);
  if (!ends) return errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  return shape.num_elements() == 0 ? OkStatus() : Fill(ctx, philox, rates, out);
}

OP("RandomPoissonV2")
    .Input("shape: S")
    .Input("rate: R")
    .Output("output: dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("S: {int32, int64}")
    .Attr("R: {half, float, double, int32, int64} = DT_DOUBLE")
    .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
    .Stateful()
    .Shape(SamplesShape)
    .Cpu<RandomPoisson>()
    .HostMemory("shape")
    .Doc("Samples of Poisson distributions with the given rates, for each a block of the given shape.");

OP("RandomPoisson")
    .Input("shape: S")
    .Input("rate: dtype")
    .Output("output: dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("S: {int32, int64}")
    .Attr("dtype: {half, float, double}")
    .Stateful()
    .Shape(SamplesShape)
    .Cpu<RandomPoisson>()
    .HostMemory("shape")
    .Doc("RandomPoissonV2 with samples of the type of the rates.");

OP("StatelessRandomPoisson")
    .Input("shape: T")
    .Input("seed: Tseed")
    .Input("lam: Rtype")
    .Output("output: dtype")
    .Attr("Rtype: {half, float, double, int32, int64}")
    .Attr("dtype: {half, float, double, int32, int64}")
    .Attr("T: {int32, int64}")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Shape(SeededShape)
    .NotDifferentiable()
    .Cpu(StatelessPoisson)
    .HostMemory("shape")
    .HostMemory("seed")
    .Doc("Samples of Poisson distributions that depend on nothing but `seed`.");

}  // namespace
}  // namespace millstream
