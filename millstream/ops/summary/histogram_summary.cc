// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/summary/histogram.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {

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
