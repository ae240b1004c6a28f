// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
Status SetSummaryTensor(const Tensor& tensor, proto::Summary::Value* value) {
  if (tensor.dtype() == DType::kString) {
    // Readers of summaries expect strings as such, not packed.
    proto::TensorProto* message = value->mutable_tensor();
    message->set_dtype(proto::DT_STRING);
    ShapeToProto(tensor.shape(), message->mutable_tensor_shape());
    for (const std::string& s : tensor.flat<std::string>()) message->add_string_val(s);
    return OkStatus();
  }
  return TensorToProto(tensor, value->mutable_tensor());
}

namespace {

Status TensorSummaryV2Cpu(KernelContext& ctx) {
  const Tensor &tag = ctx.input(0), &metadata = ctx.input(2);
  if (tag.rank() != 0) return errors::InvalidArgument("tag must be scalar");
  if (metadata.rank() != 0) return errors::InvalidArgument("serialized_summary_metadata must be scalar");
  proto::Summary summary;
  proto::Summary::Value* value = summary.add_value();
  value->set_tag(tag.scalar<std::string>());
  RETURN_IF_ERROR(SetSummaryTensor(ctx.input(1), value));
  if (!value->mutable_metadata()->ParseFromString(metadata.scalar<std::string>())) {
    return errors::InvalidArgument("serialized_summary_metadata is not a SummaryMetadata");
  }
  return OutputSummary(ctx, summary);
}

class TensorSummary final : public Kernel {
 public:
  explicit TensorSummary(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    proto::Summary summary;
    proto::Summary::Value* value = summary.add_value();
    value->set_node_name(ctx.node_name());
    RETURN_IF_ERROR(SetSummaryTensor(ctx.input(0), value));
    return OutputSummary(ctx, summary);
  }
};

OP("TensorSummaryV2")
    .Input("tag: string")
    .Input("tensor: T")
    .Input("serialized_summary_metadata: string")
    .Output("summary: string")
    .Attr("T: type")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(TensorSummaryV2Cpu)
    .Doc("A summary with a tensor and its metadata.");
OP("TensorSummary")
    .Input("tensor: T")
    .Output("summary: string")
    .Attr("T: type")
    .Attr("description: string = ''")
    .Attr("labels: list(string) = []")
    .Attr("display_name: string = ''")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<TensorSummary>()
    .Doc("A summary with a tensor.");

}  // namespace
}  // namespace millstream
