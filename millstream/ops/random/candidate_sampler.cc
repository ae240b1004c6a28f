// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/candidate_sampler.h"

#include <unordered_map>
#include <vector>

#include "millstream/math/random/random.h"

namespace millstream {

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

namespace {

// Class numbers in [0, range) with probabilities that fall as those of words sorted by frequency do.
class LogUniformRange {
 public:
  explicit LogUniformRange(KernelInit& init)
      : range_(init.Attr<int64_t>("range_max")), log_range_(std::log(static_cast<double>(range_) + 1)) {}
  int64_t size() const { return range_; }
  int64_t possible() const { return range_; }
  void Update(std::span<const int64_t>) {}

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
  explicit UniformRange(KernelInit& init) : range_(static_cast<uint64_t>(init.Attr<int64_t>("range_max"))) {}
  int64_t size() const { return static_cast<int64_t>(range_); }
  int64_t possible() const { return size(); }
  void Update(std::span<const int64_t>) {}

  int64_t Sample(math::PhiloxSampler* sampler) const {
    return static_cast<int64_t>(ExactUniform(range_, [sampler] {
      const uint64_t low = sampler->Next();
      return low | uint64_t{sampler->Next()} << 32;
    }));
  }
  float Probability(int64_t) const { return static_cast<float>(1.0 / static_cast<double>(range_)); }

 private:
  const uint64_t range_;
};

// All classes, each once.
class AllCandidateSampler final : public Kernel {
 public:
  explicit AllCandidateSampler(KernelInit& init)
      : num_true_(init.Attr<int64_t>("num_true")), num_sampled_(init.Attr<int64_t>("num_sampled")) {
    if (num_sampled_ > std::numeric_limits<int32_t>::max()) {
      init.Fail(errors::InvalidArgument("num_sampled too large: ", num_sampled_));
    }
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    if (classes.rank() != 2 || classes.dim(1) != num_true_) {
      return errors::InvalidArgument("true_classes must be a matrix with num_true = ", num_true_, " columns");
    }
    ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, Shape({num_sampled_})));
    ASSIGN_OR_RETURN(Tensor * true_counts, ctx.AllocateOutput(1, classes.shape()));
    ASSIGN_OR_RETURN(Tensor * sampled_counts, ctx.AllocateOutput(2, Shape({num_sampled_})));
    for (const int64_t c : classes.flat<int64_t>()) {
      if (c >= 0 && c < num_sampled_) continue;
      return errors::InvalidArgument("`true_candidate` out of range [0, ", num_sampled_, "), received ", c);
    }
    for (int64_t i = 0; i < num_sampled_; ++i) sampled->data<int64_t>()[i] = i;
    for (float& count : true_counts->flat<float>()) count = 1;
    for (float& count : sampled_counts->flat<float>()) count = 1;
    return OkStatus();
  }

 private:
  const int64_t num_true_, num_sampled_;
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
      return errors::InvalidArgument(
          "sampled_candidates must be a vector, which is typically an output from "
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
    .With(SamplerArgs)
    .Attr("range_max: int >= 1")
    .With(SamplerSeedAttrs)
    .Cpu<CandidateSampler<LogUniformRange>>()
    .Doc("Class numbers for sampled losses, small ones more often; how often each is to be expected.");

OP("UniformCandidateSampler")
    .With(SamplerArgs)
    .Attr("range_max: int >= 1")
    .With(SamplerSeedAttrs)
    .Cpu<CandidateSampler<UniformRange>>()
    .Doc("Class numbers for sampled losses, all equally often; how often each is to be expected.");

OP("AllCandidateSampler")
    .With(SamplerArgs)
    .With(SamplerSeedAttrs)
    .Cpu<AllCandidateSampler>()
    .Doc("All class numbers below num_sampled, each once: for testing sampled losses.");

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
