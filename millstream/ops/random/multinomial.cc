// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/random/generator.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

double NextDouble(math::PhiloxSampler* sampler) {
  const uint32_t high = sampler->Next(), low = sampler->Next();
  return math::random_internal::ToDouble(high, low);
}

// e^x for finite x <= 0, to the last bit or two, in a form that loops can be vectorised with; 0 where that is too
// small.
MILLSTREAM_ALWAYS_INLINE double ExpOfNegative(double x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2High = 6.93147180369123816490e-01,
                   kLn2Low = 1.90821492927058770002e-10, kSmallest = -708.0;
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: the low bits of a sum with it are the rounded integer
  const double at = x > kSmallest ? x : kSmallest, shifted = at * kLog2E + kRound, n = shifted - kRound;
  const double r = (at - n * kLn2High) - n * kLn2Low;
  double sum = 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const uint64_t bits = std::bit_cast<uint64_t>(sum) + (std::bit_cast<uint64_t>(shifted) << 52);
  return x < kSmallest ? 0.0 : std::bit_cast<double>(bits);
}

// The largest finite number. Lanes, so that comparisons need not wait for each other.
template <typename T>
T LargestFinite(const T* logits, int64_t n) {
  constexpr int kLanes = 32;
  return simd::Run<T>([=] {
    constexpr T kMax = std::numeric_limits<T>::max();
    T lanes[kLanes];
    for (T& lane : lanes) lane = std::numeric_limits<T>::lowest();
    const auto larger = [](T lane, T x) MILLSTREAM_INLINE_LAMBDA { return x > lane && x <= kMax ? x : lane; };
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int l = 0; l < kLanes; ++l) lanes[l] = larger(lanes[l], logits[i + l]);
    }
    for (; i < n; ++i) lanes[0] = larger(lanes[0], logits[i]);
    T largest = lanes[0];
    for (const T lane : lanes) largest = std::max(largest, lane);
    return largest;
  });
}

// Sums of the unnormalised probabilities up to each class; logits that are not finite have none. Returns the total.
template <typename T>
double Cumulate(const T* logits, int64_t classes, double* sums) {
  constexpr T kMax = std::numeric_limits<T>::max();
  const T largest = LargestFinite(logits, classes);
  simd::For<double>(0, classes, [=](int64_t c) MILLSTREAM_INLINE_LAMBDA {
    const bool finite = std::abs(logits[c]) <= kMax;
    const double size = ExpOfNegative(finite ? static_cast<double>(logits[c]) - static_cast<double>(largest) : 0.0);
    sums[c] = finite ? size : 0.0;
  });
  double total = 0;
  for (int64_t c = 0; c < classes; ++c) sums[c] = total += sums[c];
  return total;
}

// The index of the first of n rising numbers that is greater than `at`; n if none is. Without branches: which way a
// random number goes cannot be predicted.
int64_t FirstAbove(const double* sums, int64_t n, double at) {
  const double* base = sums;
  for (; n > 1; n -= n / 2) base += base[n / 2 - 1] <= at ? n / 2 : 0;
  return base - sums + (*base <= at ? 1 : 0);
}

// Rows [begin, end) of the samples. Each takes two numbers of the stream, in the order of the whole output.
template <typename T, typename Index>
void Draw(const T* logits, int64_t classes, math::Philox philox, int64_t begin, int64_t end, int64_t samples,
          Index* out) {
  std::vector<double> sums(static_cast<size_t>(classes));
  philox.Skip(static_cast<uint64_t>(begin * samples / 2));  // a block has four numbers
  math::PhiloxSampler sampler(philox);
  if (begin * samples % 2 != 0) NextDouble(&sampler);
  for (int64_t b = begin; b < end; ++b) {
    const double total = Cumulate(logits + b * classes, classes, sums.data());
    for (int64_t i = b * samples; i < (b + 1) * samples; ++i) {
      const double at = NextDouble(&sampler) * total;
      out[i] = static_cast<Index>(FirstAbove(sums.data(), classes, at));
    }
  }
}

template <typename T>
void DrawAll(KernelContext& ctx, const T* logits, int64_t classes, const math::Philox& philox, Tensor* out) {
  const int64_t samples = out->dim(1);
  const double cost = 3.0 * static_cast<double>(classes) + 30.0 * static_cast<double>(samples);
  ctx.ParallelFor(out->dim(0), cost, [&](int64_t begin, int64_t end) {
    DispatchOver(IndexTypes{}, out->dtype(), [&](auto type) {
      Draw(logits, classes, philox, begin, end, samples, out->data<typename decltype(type)::type>());
    });
  });
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
  if (wide.dtype() == DType::kFloat)
    DrawAll(ctx, wide.data<float>(), logits.dim(1), philox, out);
  else
    DrawAll(ctx, wide.data<double>(), logits.dim(1), philox, out);
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
