// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/random/generator.h"
#include "millstream/ops/random/parameters.h"
#include "millstream/ops/random/state_variable.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// What Stirling's formula for log(k!) lacks.
double StirlingRest(double k) {
  int sign = 0;  // std::lgamma writes a global variable
  if (k < 10) {
    return lgamma_r(k + 1, &sign) - ((k + 0.5) * std::log(k + 1) - (k + 1) + 0.5 * std::log(2 * M_PI));
  }
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Few expected successes by adding the distances between them, others by the transformed rejection BTRS of Hormann,
// "The generation of binomial random variates" (1993). REQUIRES: 0 < p <= 0.5.
class BinomialSampler {
 public:
  BinomialSampler(double count, double p)
      : n_(count),
        p_(p),
        deviation_(std::sqrt(count * p * (1 - p))),
        b_(1.15 + 2.53 * deviation_),
        a_(-0.0873 + 0.0248 * b_ + 0.01 * p),
        c_(count * p + 0.5),
        odds_(p / (1 - p)),
        alpha_((2.83 + 5.1 / b_) * deviation_),
        mode_(std::floor((count + 1) * p)) {}

  double Sample(Draws draws) const { return n_ * p_ >= 10 ? Rejection(draws) : Distances(draws); }

 private:
  double Distances(Draws& draws) const {
    const double scale = std::log1p(-p_);
    double successes = 0;
    for (double sum = 0;; ++successes) {
      sum += std::ceil(std::log(draws.Uniform()) / scale);
      if (sum > n_) return successes;
    }
  }
  double Rejection(Draws& draws) const {
    while (true) {
      const double u = draws.Uniform() - 0.5, v = draws.Uniform(), room = 0.5 - std::fabs(u);
      const double k = std::floor((2 * a_ / room + b_) * u + c_);
      if (room >= 0.07 && v <= 0.92 - 4.2 / b_) return k;
      if (k < 0 || k > n_) continue;
      if (std::log(v * alpha_ / (a_ / (room * room) + b_)) <= LogRatio(k)) return k;
    }
  }
  // Of the chances of k and of the most likely number.
  double LogRatio(double k) const {
    return (mode_ + 0.5) * std::log((mode_ + 1) / (odds_ * (n_ - mode_ + 1))) +
           (n_ + 1) * std::log((n_ - mode_ + 1) / (n_ - k + 1)) + (k + 0.5) * std::log(odds_ * (n_ - k + 1) / (k + 1)) +
           StirlingRest(mode_) + StirlingRest(n_ - mode_) - StirlingRest(k) - StirlingRest(n_ - k);
  }

  const double n_, p_, deviation_, b_, a_, c_, odds_, alpha_, mode_;
};

// Output number i, which has a part of the stream of its own: TensorFlow's.
double SampleBinomial(double count, double p, math::Philox philox, int64_t i) {
  constexpr uint64_t kRejectionBlocks = 256, kDistanceBlocks = 42;
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (std::isnan(p) || !std::isfinite(count)) return std::numeric_limits<double>::quiet_NaN();
  const double rarer = p <= 0.5 ? p : 1 - p;
  philox.Skip(static_cast<uint64_t>(i) * (count * rarer >= 10 ? kRejectionBlocks : kDistanceBlocks));
  const double k = BinomialSampler(count, rarer).Sample(Draws(philox));
  return p <= 0.5 ? k : count - k;
}

template <typename T>
T Converted(double x) {
  if constexpr (std::is_integral_v<T>) {
    if (!(std::fabs(x) < static_cast<double>(std::numeric_limits<T>::max()))) {
      return std::isnan(x) ? T(0) : std::numeric_limits<T>::max();
    }
  }
  return static_cast<T>(x);
}

using SampleTypes = Types<Half, float, double, int32_t, int64_t>;

// `out` is [samples, parameters]; the streams of the samples of one pair of parameters follow each other.
void FillBinomial(const KernelContext& ctx, const math::Philox& philox, const Parameters& p, Tensor* out) {
  const int64_t count = p.batch.num_elements();
  if (count == 0 || out->num_elements() == 0) return;
  const int64_t samples = out->num_elements() / count;
  DispatchOver(SampleTypes{}, out->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    ctx.ParallelFor(count * samples, 300, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / samples, s = i % samples;
        const double x = SampleBinomial(p.at(0, b), p.at(1, b), philox, i);
        out->data<T>()[s * count + b] = Converted<T>(x);
      }
    });
  });
}

constexpr char kNames[] = "counts and probs";

Status StatelessBinomial(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const math::Philox philox, GeneratorFromSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(const Parameters p, BroadcastParameters({&ctx.input(2), &ctx.input(3)}, kNames));
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
  RETURN_IF_ERROR(CheckEndsWith(shape, p.batch));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  FillBinomial(ctx, philox, p, out);
  return OkStatus();
}

Status StatefulBinomial(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Parameters p, BroadcastParameters({&ctx.input(3), &ctx.input(4)}, kNames));
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(2)));
  RETURN_IF_ERROR(CheckEndsWith(shape, p.batch));
  RETURN_IF_ERROR(CheckAlgorithm(ctx.input(1), "algorithm"));
  const int64_t batches = p.batch.num_elements(), samples = batches == 0 ? 0 : shape.num_elements() / batches;
  const auto blocks = static_cast<uint64_t>(math::ReservedBlocks(batches * 200 * (samples + 3) / 4));
  ASSIGN_OR_RETURN(const math::Philox philox, SkipInState(ctx, blocks, 0, nullptr));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  FillBinomial(ctx, philox, p, out);
  return OkStatus();
}

Status StatefulBinomialShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &unused));
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(2));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

template <Status (*fn)(KernelContext&)>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return fn(ctx); }
};

OP("StatelessRandomBinomial")
    .Input("shape: S")
    .Input("seed: Tseed")
    .Input("counts: T")
    .Input("probs: T")
    .Output("output: dtype")
    .Attr("S: {int32, int64}")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
    .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
    .Shape(SeededShape)
    .NotDifferentiable()
    .CpuFor<FunctionKernel<StatelessBinomial>>(Types<Half, float, double>{})
    .HostMemory("shape")
    .HostMemory("seed")
    .Doc("Samples of binomial distributions that depend on nothing but `seed`.");

OP("StatefulRandomBinomial")
    .Input("resource: resource")
    .Input("algorithm: int64")
    .Input("shape: S")
    .Input("counts: T")
    .Input("probs: T")
    .Output("output: dtype")
    .Attr("S: {int32, int64}")
    .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
    .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
    .Stateful()
    .Shape(StatefulBinomialShape)
    .NotDifferentiable()
    .CpuFor<FunctionKernel<StatefulBinomial>>(Types<Half, float, double>{})
    .HostMemory("resource")
    .HostMemory("algorithm")
    .HostMemory("shape")
    .Doc("Samples of binomial distributions by the generator whose state is in a variable.");

}  // namespace
}  // namespace millstream
