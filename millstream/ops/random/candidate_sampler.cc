// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/math/random.h"

namespace millstream {
namespace {

// Class numbers in [0, range) with probabilities that fall as those of words sorted by frequency do.
class LogUniformRange {
 public:
  explicit LogUniformRange(int64_t range) : range_(range), log_range_(std::log(static_cast<double>(range) + 1)) {}

  int64_t Sample(math::PhiloxSampler* sampler) const {
    const uint32_t high = sampler->Next(), low = sampler->Next();
    const double u = math::random_internal::ToDouble(high, low);
    return (static_cast<int64_t>(std::exp(u * log_range_)) - 1) % range_;
  }
  float Probability(int64_t value) const {
    const auto v = static_cast<double>(value);
    return static_cast<float>(std::log((v + 2.0) / (v + 1.0)) / log_range_);
  }

 private:
  const int64_t range_;
  const double log_range_;
};

class UniformRange {
 public:
  explicit UniformRange(int64_t range) : range_(static_cast<uint64_t>(range)) {}

  // Without the slight preference for small numbers that a plain remainder has: leftovers are drawn again.
  int64_t Sample(math::PhiloxSampler* sampler) const {
    const auto next = [sampler] {
      const uint64_t low = sampler->Next();
      return low | uint64_t{sampler->Next()} << 32;
    };
    if ((range_ & (range_ - 1)) == 0) return static_cast<int64_t>(next() & (range_ - 1));
    const uint64_t leftover = std::numeric_limits<uint64_t>::max() % range_ + 1;
    uint64_t value = next();
    while (value < leftover) value = next();
    return static_cast<int64_t>(value % range_);
  }
  float Probability(int64_t) const { return static_cast<float>(1.0 / static_cast<double>(range_)); }

 private:
  const uint64_t range_;
};

template <typename Range>
class CandidateSampler final : public Kernel {
 public:
  explicit CandidateSampler(KernelInit& init)
      : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")), num_true_(init.Attr<int64_t>("num_true")),
        num_sampled_(init.Attr<int64_t>("num_sampled")), range_max_(init.Attr<int64_t>("range_max")),
        unique_(init.Attr<bool>("unique")), range_(range_max_) {
    if (num_sampled_ > std::numeric_limits<int32_t>::max()) {
      init.Fail(errors::InvalidArgument("num_sampled too large: ", num_sampled_));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    if (classes.rank() != 2) return errors::InvalidArgument("true_classes must be a matrix");
    if (classes.dim(1) != num_true_) {
      return errors::InvalidArgument("true_classes must have num_true columns, expected: ", num_true_, " was: ",
                                     classes.dim(1));
    }
    if (unique_ && num_sampled_ > range_max_) return errors::InvalidArgument("Sampler's range is too small.");
    ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, Shape({num_sampled_})));
    ASSIGN_OR_RETURN(Tensor * true_counts, ctx.AllocateOutput(1, classes.shape()));
    ASSIGN_OR_RETURN(Tensor * sampled_counts, ctx.AllocateOutput(2, Shape({num_sampled_})));
    const int64_t tries = Draw(sampled->data<int64_t>());
    Count(*sampled, tries, sampled_counts->data<float>());
    Count(classes, tries, true_counts->data<float>());
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
  const int64_t num_true_, num_sampled_, range_max_;
  const bool unique_;
  const Range range_;
};

// Where a true class of a row is among the sampled ones.
class ComputeAccidentalHits final : public Kernel {
 public:
  explicit ComputeAccidentalHits(KernelInit& init) : num_true_(init.Attr<int64_t>("num_true")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &classes = ctx.input(0), &sampled = ctx.input(1);
    if (classes.rank() != 2 || classes.dim(1) != num_true_) {
      return errors::InvalidArgument("true_candidates must be a batch_size * num_true matrix");
    }
    if (sampled.rank() != 1) {
      return errors::InvalidArgument("sampled_candidates must be a vector, which is typically an output from "
                                     "CandidateSampler");
    }
    std::unordered_map<int64_t, int64_t> place;
    for (int64_t i = 0; i < sampled.dim(0); ++i) place[sampled.data<int64_t>()[i]] = i;
    std::vector<std::pair<int32_t, int64_t>> hits;
    for (int64_t i = 0; i < classes.num_elements(); ++i) {
      const auto found = place.find(classes.data<int64_t>()[i]);
      if (found != place.end()) hits.emplace_back(static_cast<int32_t>(i / num_true_), found->second);
    }
    const Shape shape({static_cast<int64_t>(hits.size())});
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * ids, ctx.AllocateOutput(1, shape));
    ASSIGN_OR_RETURN(Tensor * weights, ctx.AllocateOutput(2, shape));
    for (size_t i = 0; i < hits.size(); ++i) {
      indices->data<int32_t>()[i] = hits[i].first;
      ids->data<int64_t>()[i] = hits[i].second;
      weights->data<float>()[i] = std::numeric_limits<float>::lowest();
    }
    return OkStatus();
  }

 private:
  const int64_t num_true_;
};

Status SamplerShape(ShapeContext& c) {
  int64_t num_true = 0, num_sampled = 0;
  RETURN_IF_ERROR(c.GetAttr("num_true", &num_true));
  RETURN_IF_ERROR(c.GetAttr("num_sampled", &num_sampled));
  PartialShape classes;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &classes));
  c.set_output(0, PartialShape({num_sampled}));
  c.set_output(1, PartialShape({classes.dim(0), num_true}));
  c.set_output(2, PartialShape({num_sampled}));
  return OkStatus();
}

Status HitsShape(ShapeContext& c) {
  int64_t num_true = 0;
  RETURN_IF_ERROR(c.GetAttr("num_true", &num_true));
  PartialShape classes, sampled;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &classes));
  RETURN_IF_ERROR(ShapeContext::MergeDim(classes.dim(1), num_true, &num_true));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &sampled));
  for (int i = 0; i < 3; ++i) c.set_output(i, PartialShape({-1}));
  return OkStatus();
}

OP("LogUniformCandidateSampler")
    .Input("true_classes: int64")
    .Output("sampled_candidates: int64")
    .Output("true_expected_count: float")
    .Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1")
    .Attr("num_sampled: int >= 1")
    .Attr("unique: bool")
    .Attr("range_max: int >= 1")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Stateful()
    .Shape(SamplerShape)
    .NotDifferentiable()
    .Cpu<CandidateSampler<LogUniformRange>>()
    .Doc("Class numbers for sampled losses, small ones more often; how often each is to be expected.");

OP("UniformCandidateSampler")
    .Input("true_classes: int64")
    .Output("sampled_candidates: int64")
    .Output("true_expected_count: float")
    .Output("sampled_expected_count: float")
    .Attr("num_true: int >= 1")
    .Attr("num_sampled: int >= 1")
    .Attr("unique: bool")
    .Attr("range_max: int >= 1")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Stateful()
    .Shape(SamplerShape)
    .NotDifferentiable()
    .Cpu<CandidateSampler<UniformRange>>()
    .Doc("Class numbers for sampled losses, all equally often; how often each is to be expected.");

OP("ComputeAccidentalHits")
    .Input("true_classes: int64")
    .Input("sampled_candidates: int64")
    .Output("indices: int32")
    .Output("ids: int64")
    .Output("weights: float")
    .Attr("num_true: int")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Shape(HitsShape)
    .NotDifferentiable()
    .Cpu<ComputeAccidentalHits>()
    .Doc("Where true classes were sampled by accident: rows, places among the samples, and weights that mask them.");

}  // namespace
}  // namespace millstream
