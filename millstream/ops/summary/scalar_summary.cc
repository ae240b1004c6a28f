// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include "millstream/framework/monitoring/census.h"
#include "millstream/framework/op.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

Status ScalarSummary(KernelContext& ctx) {
  const Tensor &tags = ctx.input(0), &values = ctx.input(1);
  if (!(tags.shape() == values.shape()) && !(tags.num_elements() == 1 && values.num_elements() == 1)) {
    return errors::InvalidArgument("tags and values are not the same shape: ", tags.shape().ToString(),
                                   " != ", values.shape().ToString());
  }
  const Ref<Census> census = Census::Of(ctx.resources());
  proto::Summary summary;
  DispatchOver(RealTypes{}, values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      proto::Summary::Value* value = summary.add_value();
      value->set_tag(tags.data<std::string>()[i]);
      value->set_simple_value(static_cast<float>(values.data<T>()[i]));
      if (census) census->Report(value->tag(), value->simple_value());
    }
  });
  return OutputSummary(ctx, summary);
}

// Values of the merged summaries one after the other; a tag may occur once.
Status MergeSummary(KernelContext& ctx) {
  proto::Summary merged;
  std::set<std::string> tags;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    for (const std::string& bytes : ctx.input(i).flat<std::string>()) {
      proto::Summary part;
      if (!part.ParseFromString(bytes)) return errors::InvalidArgument("Could not parse one of the summary inputs");
      for (const auto& value : part.value()) {
        if (!tags.insert(value.tag()).second)
          return errors::InvalidArgument("Duplicate tag ", value.tag(), " found in summary inputs");
        *merged.add_value() = value;
      }
    }
  }
  return OutputSummary(ctx, merged);
}

OP("ScalarSummary")
    .Input("tags: string")
    .Input("values: T")
    .Output("summary: string")
    .Attr("T: realnumbertype")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(ScalarSummary)
    .Doc("A summary with scalar values.");

OP("MergeSummary")
    .Input("inputs: N * string")
    .Output("summary: string")
    .Attr("N: int >= 1")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(MergeSummary)
    .Doc("One summary out of several.");

}  // namespace
}  // namespace millstream
