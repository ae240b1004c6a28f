// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/random/candidate_sampler.h"

namespace millstream {
namespace {

// Classes as often as they were true so far, and once more each. The counts are sums over a binary tree, so that
// counting and drawing take steps in the logarithm of the number of classes. Thread-safe.
class LearnedRange {
 public:
  explicit LearnedRange(KernelInit& init) : size_(init.Attr<int64_t>("range_max")) {
    if (size_ >= std::numeric_limits<int32_t>::max()) {
      init.Fail(errors::InvalidArgument("range_max is too large: ", size_));
      return;
    }
    while (leaves_ < size_) leaves_ *= 2;
    MutexLock lock(mu_);
    sums_.resize(static_cast<size_t>(2 * leaves_));
    for (int64_t i = 0; i < size_; ++i) sums_[leaves_ + i] = 1;
    for (int64_t i = leaves_ - 1; i > 0; --i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  }
  int64_t size() const { return size_; }
  int64_t possible() const { return size_; }

  int64_t Sample(math::PhiloxSampler* sampler) const {
    MutexLock lock(mu_);
    uint32_t place = ExactUniform(static_cast<uint32_t>(sums_[1]), [sampler] { return sampler->Next(); });
    int64_t node = 1;
    while (node < leaves_) {
      node *= 2;
      const auto left = static_cast<uint32_t>(sums_[node]);
      if (place < left) continue;
      place -= left;
      ++node;
    }
    return node - leaves_;
  }
  float Probability(int64_t value) const {
    MutexLock lock(mu_);
    return static_cast<float>(sums_[leaves_ + value]) / static_cast<float>(sums_[1]);
  }
  // Stops counting when the sum would pass what 32 bits hold.
  void Update(std::span<const int64_t> classes) {
    MutexLock lock(mu_);
    for (const int64_t c : classes) {
      if (sums_[1] == std::numeric_limits<int32_t>::max()) return;
      for (int64_t node = leaves_ + c; node > 0; node /= 2) ++sums_[node];
    }
  }

 private:
  const int64_t size_;
  int64_t leaves_ = 1;
  mutable Mutex mu_;
  std::vector<int32_t> sums_ ABSL_GUARDED_BY(mu_);  // node i has the children 2i and 2i + 1
};

// Classes with given weights, drawn by Walker's alias method: each class shares its place with at most one other.
class FixedRange {
 public:
  explicit FixedRange(KernelInit& init)
      : size_(init.Attr<int64_t>("range_max")),
        num_shards_(init.Attr<int64_t>("num_shards")),
        shard_(init.Attr<int64_t>("shard")),
        distortion_(init.Attr<float>("distortion")) {
    const auto file = init.Attr<std::string>("vocab_file");
    const auto unigrams = init.Attr<std::vector<float>>("unigrams");
    const auto reserved = init.Attr<int64_t>("num_reserved_ids");
    if (file.empty() == unigrams.empty()) {
      init.Fail(errors::InvalidArgument(file.empty() ? "Must provide either vocab_file or unigrams."
                                                     : "Must only provide one of vocab_file and unigrams."));
      return;
    }
    for (int64_t i = 0; i < reserved && static_cast<int64_t>(weights_.size()) <= size_; ++i) {
      if (i % num_shards_ == shard_) weights_.push_back(0);
    }
    auto next_id = static_cast<int64_t>(weights_.size());
    for (const float w : unigrams) Add(next_id++, w);
    if (!file.empty()) init.Check(Load(init.resources(), file, next_id));
    if (static_cast<int64_t>(weights_.size()) != size_) {
      init.Fail(errors::InvalidArgument("range is ", size_, " must be equal to weights size  ", weights_.size()));
    }
    if (!(total_ > 0) || !std::isfinite(total_)) {
      init.Fail(errors::InvalidArgument("The weights must have a positive, finite sum: ", total_));
    }
    possible_ = std::count_if(weights_.begin(), weights_.end(), [](float w) { return w > 0; });
    if (init.status().ok()) MakePlaces();
  }
  int64_t size() const { return size_; }
  int64_t possible() const { return possible_; }
  int64_t Sample(math::PhiloxSampler* sampler) const {
    const float u = math::random_internal::ToFloat(sampler->Next());
    const uint32_t place = ExactUniform(static_cast<uint32_t>(size_), [sampler] { return sampler->Next(); });
    return u < places_[place].share ? place : places_[place].other;
  }
  float Probability(int64_t value) const { return weights_[value] / total_; }
  void Update(std::span<const int64_t>) {}

 private:
  struct Place {
    float share = 1;    // of the class itself
    int64_t other = 0;  // who has the rest
  };

  void Add(int64_t id, float weight) {
    if (id % num_shards_ != shard_) return;
    weight = std::pow(weight, distortion_);
    total_ += weight;
    weights_.push_back(weight);
  }
  // Lines whose last field, after a comma, is a weight.
  Status Load(const ResourceManager* resources, const std::string& path, int64_t next_id) {
    ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, path));
    ASSIGN_OR_RETURN(std::string text, ReadFile(confined));
    if (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty()) return OkStatus();
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
      float weight = 0;
      if (next_id % num_shards_ == shard_ && !absl::SimpleAtof(fields.back(), &weight)) {
        return errors::InvalidArgument("Wrong vocabulary format at line: ", line);
      }
      Add(next_id++, weight);
    }
    return OkStatus();
  }
  // Takes a class below the average and one above it, and fills the place of the first from the second.
  void MakePlaces() {
    const size_t n = weights_.size();
    double sum = 0;
    for (const float w : weights_) sum += w;
    std::vector<double> left(n);
    std::vector<size_t> high, low;
    for (size_t i = 0; i < n; ++i) {
      left[i] = weights_[i] * static_cast<float>(n) / sum;
      (left[i] < 1 ? low : high).push_back(i);
    }
    places_.resize(n);
    while (!high.empty() && !low.empty()) {
      const size_t l = low.back(), h = high.back();
      low.pop_back();
      high.pop_back();
      places_[l] = {static_cast<float>(left[l]), static_cast<int64_t>(h)};
      left[h] -= 1 - left[l];
      (left[h] < 1 ? low : high).push_back(h);
    }
    // What is left is full, but for rounding.
    for (const auto* rest : {&high, &low})
      for (const size_t i : *rest) places_[i] = {1, static_cast<int64_t>(i)};
  }

  const int64_t size_, num_shards_, shard_;
  const float distortion_;
  std::vector<float> weights_;
  float total_ = 0;
  int64_t possible_ = 0;
  std::vector<Place> places_;
};

OP("LearnedUnigramCandidateSampler")
    .With(SamplerArgs)
    .Attr("range_max: int >= 1")
    .With(SamplerSeedAttrs)
    .Cpu<CandidateSampler<LearnedRange>>()
    .Doc("Class numbers for sampled losses, as often as they were true so far.");

OP("ThreadUnsafeUnigramCandidateSampler")
    .With(SamplerArgs)
    .Attr("range_max: int >= 1")
    .With(SamplerSeedAttrs)
    .Cpu<CandidateSampler<LearnedRange>>()
    .Doc("LearnedUnigramCandidateSampler under another name.");

OP("FixedUnigramCandidateSampler")
    .With(SamplerArgs)
    .Attr("range_max: int >= 1")
    .Attr("vocab_file: string = ''")
    .Attr("distortion: float = 1.0")
    .Attr("num_reserved_ids: int = 0")
    .Attr("num_shards: int >= 1 = 1")
    .Attr("shard: int >= 0 = 0")
    .Attr("unigrams: list(float) = []")
    .With(SamplerSeedAttrs)
    .Cpu<CandidateSampler<FixedRange>>()
    .Doc("Class numbers for sampled losses, with the weights of a list or a file.");

}  // namespace
}  // namespace millstream
