// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Upper ends of buckets as TensorBoard knows them: powers of 1.1 on both sides of zero.
const std::vector<double>& BucketLimits() {
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

class Histogram {
 public:
  Histogram() : counts_(BucketLimits().size(), 0) {}

  void Add(double value) {
    const auto& limits = BucketLimits();
    const auto at = std::upper_bound(limits.begin(), limits.end(), value) - limits.begin();
    counts_[std::min<size_t>(static_cast<size_t>(at), counts_.size() - 1)] += 1;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    num_ += 1;
    sum_ += value;
    sum_squares_ += value * value;
  }

  // A run of empty buckets becomes one.
  void Write(proto::HistogramProto* out) const {
    out->set_min(min_);
    out->set_max(max_);
    out->set_num(num_);
    out->set_sum(sum_);
    out->set_sum_squares(sum_squares_);
    for (size_t i = 0; i < counts_.size();) {
      size_t last = i;
      if (counts_[i] == 0)
        while (last + 1 < counts_.size() && counts_[last + 1] == 0) ++last;
      out->add_bucket_limit(BucketLimits()[last]);
      out->add_bucket(counts_[i]);
      i = last + 1;
    }
  }

 private:
  std::vector<double> counts_;
  double min_ = DBL_MAX, max_ = -DBL_MAX, num_ = 0, sum_ = 0, sum_squares_ = 0;
};

}  // namespace

Status AddHistogram(const std::string& tag, const Tensor& values, absl::string_view who, proto::Summary* summary) {
  Histogram histogram;
  Status status;
  DispatchOver(Join<RealTypes, Types<bool>>{}, values.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (const T& v : values.flat<T>()) {
      const auto value = static_cast<double>(v);
      if (std::isnan(value))
        status = errors::InvalidArgument("Nan in summary histogram for: ", who);
      else if (std::isinf(value))
        status = errors::InvalidArgument("Infinity in summary histogram for: ", who);
      if (!status.ok()) return;
      histogram.Add(value);
    }
  });
  RETURN_IF_ERROR(status);
  proto::Summary::Value* value = summary->add_value();
  value->set_tag(tag);
  histogram.Write(value->mutable_histo());
  return OkStatus();
}

namespace {

Status HistogramSummary(KernelContext& ctx) {
  const Tensor& tag = ctx.input(0);
  if (tag.rank() != 0) return errors::InvalidArgument("tags must be scalar, got ", tag.shape().ToString());
  proto::Summary summary;
  RETURN_IF_ERROR(AddHistogram(tag.scalar<std::string>(), ctx.input(1), ctx.node_name(), &summary));
  return OutputSummary(ctx, summary);
}

OP("HistogramSummary")
    .Input("tag: string")
    .Input("values: T")
    .Output("summary: string")
    .Attr("T: realnumbertype = DT_FLOAT")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(HistogramSummary)
    .Doc("A summary with the distribution of values.");

}  // namespace
}  // namespace millstream
