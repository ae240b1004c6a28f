// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_CANDIDATE_SAMPLER_H_
#define MILLSTREAM_OPS_RANDOM_CANDIDATE_SAMPLER_H_

#include <cmath>
#include <limits>
#include <unordered_set>

#include "millstream/framework/op.h"
#include "millstream/math/random/philox.h"

namespace millstream {

// Without the slight preference for small numbers that a plain remainder has: leftovers are drawn again.
// `next` gives random numbers of type Int. REQUIRES: range > 0.
template <typename Int, typename Next>
Int ExactUniform(Int range, Next next) {
  if ((range & (range - 1)) == 0) return next() & (range - 1);
  const Int leftover = std::numeric_limits<Int>::max() % range + 1;
  Int value = next();
  while (value < leftover) value = next();
  return value % range;
}

// Draws classes from a Range, which is made from the op's attributes and has
//   int64_t size() const             class numbers are below it
//   int64_t possible() const         the number of classes that Sample() can give
//   int64_t Sample(PhiloxSampler*) const
//   float Probability(int64_t) const of a class below size()
//   void Update(std::span<const int64_t>)  told the true classes after each batch
// and locks by itself where those may run at once.
template <typename Range>
class CandidateSampler final : public Kernel {
 public:
  explicit CandidateSampler(KernelInit& init)
      : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")),
        num_true_(init.Attr<int64_t>("num_true")),
        num_sampled_(init.Attr<int64_t>("num_sampled")),
        unique_(init.Attr<bool>("unique")),
        range_(init) {
    if (num_sampled_ > std::numeric_limits<int32_t>::max()) {
      init.Fail(errors::InvalidArgument("num_sampled too large: ", num_sampled_));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    if (classes.rank() != 2) return errors::InvalidArgument("true_classes must be a matrix");
    if (classes.dim(1) != num_true_) {
      return errors::InvalidArgument("true_classes must have num_true columns, expected: ", num_true_,
                                     " was: ", classes.dim(1));
    }
    if (unique_ && num_sampled_ > range_.possible()) return errors::InvalidArgument("Sampler's range is too small.");
    for (const int64_t c : classes.flat<int64_t>()) {
      if (c >= 0 && c < range_.size()) continue;
      return errors::InvalidArgument("`true_candidate` out of range [0, ", range_.size(), "), received ", c);
    }
    ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, Shape({num_sampled_})));
    ASSIGN_OR_RETURN(Tensor * true_counts, ctx.AllocateOutput(1, classes.shape()));
    ASSIGN_OR_RETURN(Tensor * sampled_counts, ctx.AllocateOutput(2, Shape({num_sampled_})));
    const int64_t tries = Draw(sampled->data<int64_t>());
    Count(*sampled, tries, sampled_counts->data<float>());
    Count(classes, tries, true_counts->data<float>());
    range_.Update(classes.flat<int64_t>());
    return OkStatus();
  }

 private:
  // Returns how many numbers were drawn to get num_sampled_ of them.
  int64_t Draw(int64_t* sampled) {
    constexpr int64_t kReservedNumbers = 2048;
    math::PhiloxSampler sampler(stream_.Reserve(kReservedNumbers * num_sampled_ / 4));
    if (!unique_) {
      for (int64_t i = 0; i < num_sampled_; ++i) sampled[i] = range_.Sample(&sampler);
      return num_sampled_;
    }
    std::unordered_set<int64_t> used;
    used.reserve(static_cast<size_t>(num_sampled_));
    int64_t tries = 0;
    for (int64_t picked = 0; picked < num_sampled_; ++tries) {
      const int64_t value = range_.Sample(&sampler);
      if (used.insert(value).second) sampled[picked++] = value;
    }
    return tries;
  }

  // How often each class is to be expected among the samples.
  void Count(const Tensor& classes, int64_t tries, float* counts) const {
    const auto n = static_cast<float>(tries);
    for (const int64_t c : classes.flat<int64_t>()) {
      const float p = range_.Probability(c);
      *counts++ = tries == num_sampled_ ? p * n : -std::expm1(n * std::log1p(-p));
    }
  }

  math::PhiloxStream stream_;
  const int64_t num_true_, num_sampled_;
  const bool unique_;
  Range range_;
};

Status SamplerShape(ShapeContext& c);

inline void SamplerArgs(OpBuilder& op) {
  op.Input("true_classes: int64")
      .Output("sampled_candidates: int64")
      .Output("true_expected_count: float")
      .Output("sampled_expected_count: float")
      .Attr("num_true: int >= 1")
      .Attr("num_sampled: int >= 1")
      .Attr("unique: bool");
}
inline void SamplerSeedAttrs(OpBuilder& op) {
  op.Attr("seed: int = 0").Attr("seed2: int = 0").Stateful().Shape(SamplerShape).NotDifferentiable();
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_CANDIDATE_SAMPLER_H_
