// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/summary/histogram.h"

#include <algorithm>

#include "millstream/proto/summary.pb.h"

namespace millstream {
namespace {

// Upper ends of buckets as TensorBoard knows them: powers of 1.1 on both sides of zero.
const std::vector<double>& HistogramBucketLimits() {
  static const auto* limits = [] {
    std::vector<double> positive;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    positive.push_back(DBL_MAX);
    auto* all = new std::vector<double>;
    for (auto it = positive.rbegin(); it != positive.rend(); ++it) all->push_back(-*it);
    all->push_back(0);
    all->insert(all->end(), positive.begin(), positive.end());
    return all;
  }();
  return *limits;
}

}  // namespace

Histogram::Histogram() : counts_(HistogramBucketLimits().size(), 0) {}

void Histogram::Add(double value) {
  const auto& limits = HistogramBucketLimits();
  const auto at = std::upper_bound(limits.begin(), limits.end(), value) - limits.begin();
  counts_[std::min<size_t>(static_cast<size_t>(at), counts_.size() - 1)] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_squares_ += value * value;
}

void Histogram::Write(proto::HistogramProto* out) const {
  out->set_min(min_);
  out->set_max(max_);
  out->set_num(num_);
  out->set_sum(sum_);
  out->set_sum_squares(sum_squares_);
  for (size_t i = 0; i < counts_.size();) {
    size_t last = i;
    if (counts_[i] == 0)
      while (last + 1 < counts_.size() && counts_[last + 1] == 0) ++last;
    out->add_bucket_limit(HistogramBucketLimits()[last]);
    out->add_bucket(counts_[i]);
    i = last + 1;
  }
}

}  // namespace millstream
