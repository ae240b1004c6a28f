// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/math/random.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

double NextDouble(math::PhiloxSampler* sampler) {
  const uint32_t high = sampler->Next(), low = sampler->Next();
  return math::random_internal::ToDouble(high, low);
}

// Sums of the unnormalised probabilities up to each class; logits that are not finite have none. Returns the total.
template <typename T>
double Cumulate(const T* logits, int64_t classes, double* sums) {
  T largest = std::numeric_limits<T>::lowest();
  for (int64_t c = 0; c < classes; ++c) {
    if (std::isfinite(logits[c])) largest = std::max(largest, logits[c]);
  }
  double total = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (std::isfinite(logits[c])) total += std::exp(static_cast<double>(logits[c]) - static_cast<double>(largest));
    sums[c] = total;
  }
  return total;
}

template <typename T>
void Draw(const T* logits, const math::Philox& philox, double* sums, int64_t classes, Tensor* out) {
  math::PhiloxSampler sampler(philox);
  const int64_t samples = out->dim(1);
  for (int64_t b = 0; b < out->dim(0); ++b) {
    const double total = Cumulate(logits + b * classes, classes, sums);
    for (int64_t i = b * samples; i < (b + 1) * samples; ++i) {
      const double at = NextDouble(&sampler) * total;
      const int64_t found = std::upper_bound(sums, sums + classes, at) - sums;
      if (out->dtype() == DType::kInt32)
        out->data<int32_t>()[i] = static_cast<int32_t>(found);
      else
        out->data<int64_t>()[i] = found;
    }
  }
}

// Reads logits (input 0) and the number of samples (input 1) and draws; `generator` is asked for one that is good for a
// number of outputs, if there are any.
template <typename Generator>
Status Sample(KernelContext& ctx, Generator generator) {
  const Tensor &logits = ctx.input(0), &count = ctx.input(1);
  if (logits.rank() != 2) {
    return errors::InvalidArgument("logits should be a matrix, got shape ", logits.shape().ToString());
  }
  if (count.rank() != 0) {
    return errors::InvalidArgument("num_samples should be a scalar, got shape ", count.shape().ToString());
  }
  int64_t samples = 0;
  RETURN_IF_ERROR(ReadIntScalar(count, "num_samples", &samples));
  if (samples < 0) return errors::InvalidArgument("num_samples should be nonnegative, got ", samples);
  const int64_t batch = logits.dim(0);
  if (batch > 0 && samples > 0 && logits.dim(1) < 1) {
    return errors::InvalidArgument("num_classes should be positive, got ", logits.dim(1));
  }
  const int64_t dims[] = {batch, samples};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (out->num_elements() == 0) return OkStatus();
  // A sample takes two numbers.
  ASSIGN_OR_RETURN(const math::Philox philox, generator(batch * ((samples + 3) / 4 * 4) * 2));
  ASSIGN_OR_RETURN(const Tensor wide, AsFloat(ctx, logits));
  ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kDouble, Shape({logits.dim(1)})));
  if (wide.dtype() == DType::kFloat)
    Draw(wide.data<float>(), philox, sums.data<double>(), logits.dim(1), out);
  else
    Draw(wide.data<double>(), philox, sums.data<double>(), logits.dim(1), out);
  return OkStatus();
}

class Multinomial final : public Kernel {
 public:
  explicit Multinomial(KernelInit& init) : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}
  Status Compute(KernelContext& ctx) override {
    return Sample(ctx, [this](int64_t outputs) -> StatusOr<math::Philox> {
      return stream_.Reserve(math::ReservedBlocks(outputs));
    });
  }

 private:
  math::PhiloxStream stream_;
};

class StatelessMultinomial final : public Kernel {
 public:
  explicit StatelessMultinomial(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    return Sample(ctx, [&ctx](int64_t) { return GeneratorFromSeed(ctx.input(2)); });
  }
};

Status MultinomialShape(ShapeContext& c) {
  PartialShape logits, count;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &logits));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &count));
  int64_t samples = -1;
  if (c.ConstantInt(1, &samples) && samples < 0) {
    return errors::InvalidArgument("num_samples should be nonnegative, got ", samples);
  }
  c.set_output(0, PartialShape({logits.dim(0), samples}));
  return c.num_inputs() == 3 ? CheckSeedShape(c.input(2)) : OkStatus();
}

OP("Multinomial")
    .Input("logits: T")
    .Input("num_samples: int32")
    .Output("output: output_dtype")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("T: realnumbertype")
    .Attr("output_dtype: {int32, int64} = DT_INT64")
    .Stateful()
    .Shape(MultinomialShape)
    .NotDifferentiable()
    .CpuFor<Multinomial>(FloatTypes{})
    .HostMemory("num_samples")
    .Doc("Class numbers drawn with probabilities softmax(logits), for each row.");

OP("StatelessMultinomial")
    .Input("logits: T")
    .Input("num_samples: int32")
    .Input("seed: Tseed")
    .Output("output: output_dtype")
    .Attr("T: realnumbertype")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Attr("output_dtype: {int32, int64} = DT_INT64")
    .Shape(MultinomialShape)
    .NotDifferentiable()
    .CpuFor<StatelessMultinomial>(FloatTypes{})
    .HostMemory("num_samples")
    .HostMemory("seed")
    .Doc("Multinomial whose samples depend on nothing but `seed`.");

}  // namespace
}  // namespace millstream
