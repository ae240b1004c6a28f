// SPDX-License-Identifier: Apache-2.0
// Collectives whose group is given by inputs.
#include "millstream/ops/collective/collective_kernel.h"

namespace millstream {
namespace {

// Inputs `first` on: group_size, group_key, instance_key.
Status FillGroup(const KernelContext& ctx, int first, collective::OpRequest* request) {
  ASSIGN_OR_RETURN(request->group_size, ScalarInput(ctx, first, "group_size"));
  ASSIGN_OR_RETURN(const int32_t group, ScalarInput(ctx, first + 1, "group_key"));
  ASSIGN_OR_RETURN(const int32_t instance, ScalarInput(ctx, first + 2, "instance_key"));
  request->group = absl::StrCat(group);
  request->instance = absl::StrCat(instance);
  return CheckGroupSize(request->group_size);
}

// Ops with one tensor and no attributes that matter.
template <collective::OpKind kKind>
class CollectiveV2 final : public CollectiveKernel {
 public:
  explicit CollectiveV2(KernelInit& init) : CollectiveKernel(init, kKind) {
    if (!init.HasAttr("merge_op")) return;
    StatusOr<collective::ReduceOp> op = ReduceOpFromName(init.Attr<std::string>("merge_op"));
    if (op.ok()) op = WithFinalOp(*op, init.Attr<std::string>("final_op"));
    if (op.ok()) op_ = *op;
    init.Check(op.status());
  }

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override {
    request->op = op_;
    request->input = ctx.input(0);
    request->is_source = kKind == collective::OpKind::kBroadcast;
    if (kKind != collective::OpKind::kReduce && kKind != collective::OpKind::kBroadcast && ctx.input(0).rank() == 0) {
      return errors::InvalidArgument("input should have rank > 0, ", "recieved 0");
    }
    return FillGroup(ctx, 1, request);
  }

  collective::ReduceOp op_ = collective::ReduceOp::kSum;
};

class CollectiveBcastRecvV2 final : public CollectiveKernel {
 public:
  explicit CollectiveBcastRecvV2(KernelInit& init) : CollectiveKernel(init, collective::OpKind::kBroadcast) {}

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override { return FillGroup(ctx, 0, request); }
  Status Check(const KernelContext& ctx, const Tensor& output) const override {
    const Tensor& declared = ctx.input(3);
    bool same = declared.rank() == 1 && declared.dim(0) == output.rank();
    for (int i = 0; same && i < output.rank(); ++i) {
      const int64_t size =
          declared.dtype() == DType::kInt32 ? declared.data<int32_t>()[i] : declared.data<int64_t>()[i];
      same = size == output.dim(i);
    }
    if (same) return OkStatus();
    return errors::InvalidArgument("Shape mismatch: a broadcast brought ", output.shape().ToString(), " where ",
                                   declared.SummarizeValue(), " was declared");
  }
};

Status BcastRecvShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(3));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

// Which row of a [groups, group_size] assignment a device is in: its group's size and key.
Status CollectiveAssignGroup(KernelContext& ctx) {
  const Tensor& assignment = ctx.input(0);
  if (assignment.rank() != 2) {
    return errors::InvalidArgument("group_assignment must have rank 2, got ", assignment.shape().ToString());
  }
  ASSIGN_OR_RETURN(const int32_t device, ScalarInput(ctx, 1, "device_index"));
  ASSIGN_OR_RETURN(const int32_t base_key, ScalarInput(ctx, 2, "base_key"));
  const auto cells = assignment.flat<int32_t>();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] != device) continue;
    const int64_t row = static_cast<int64_t>(i) / assignment.dim(1);
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(assignment.dim(1))));
    ctx.set_output(1, Tensor::Scalar(static_cast<int32_t>(base_key + row)));
    return OkStatus();
  }
  return errors::InvalidArgument("Device index ", device, " is not found in the group_assignment ",
                                 assignment.SummarizeValue(100));
}

void GroupInputs(OpBuilder& op) {
  op.Input("group_size: int32").Input("group_key: int32").Input("instance_key: int32");
  op.HostMemory("group_size").HostMemory("group_key").HostMemory("instance_key");
}
void OrderedCall(OpBuilder& op) {
  op.With(CollectiveCall).Attr("is_stateless: bool = false").Attr("Nordering_token: int >= 0 = 0");
}
void ReductionAttributes(OpBuilder& op) {
  op.Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}").Attr("final_op: {'Id', 'Div'}");
}

OP("CollectiveReduceV2")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .With(GroupInputs)
    .Input("ordering_token: Nordering_token * resource")
    .With(ReductionAttributes)
    .With(OrderedCall)
    .Attr("max_subdivs_per_device: int = -1")
    .With(ReducesOverGroup)
    .Shape(UnchangedShape)
    .Cpu<CollectiveV2<collective::OpKind::kReduce>>()
    .Doc("Reduces tensors of the same shape over the members of a group.");

OP("CollectiveReduceScatterV2")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .With(GroupInputs)
    .Input("ordering_token: Nordering_token * resource")
    .With(ReductionAttributes)
    .With(OrderedCall)
    .Attr("max_subdivs_per_device: int = -1")
    .With(ReducesOverGroup)
    .Shape(UnknownRowsShape)
    .Cpu<CollectiveV2<collective::OpKind::kReduceScatter>>()
    .Doc("Reduces tensors over the members of a group; each gets its share of the rows.");

OP("CollectiveGatherV2")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {float, half, double, int32, int64}")
    .With(GroupInputs)
    .Input("ordering_token: Nordering_token * resource")
    .With(OrderedCall)
    .With(ReducesOverGroup)
    .Shape(UnknownRowsShape)
    .Cpu<CollectiveV2<collective::OpKind::kGather>>()
    .Doc("Concatenates the tensors of all members of a group, in the order of their devices.");

OP("CollectiveAllToAllV2")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .With(GroupInputs)
    .Input("ordering_token: Nordering_token * resource")
    .With(OrderedCall)
    .With(ReducesOverGroup)
    .Shape(UnchangedShape)
    .Cpu<CollectiveV2<collective::OpKind::kAllToAll>>()
    .Doc("Part i of every member's tensor goes to member i.");

OP("CollectiveBcastSendV2")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {bool, float, half, double, int32, int64}")
    .With(GroupInputs)
    .With(CollectiveCall)
    .Shape(UnchangedShape)
    .Cpu<CollectiveV2<collective::OpKind::kBroadcast>>()
    .Doc("Sends a tensor to all other members of a group.");

OP("CollectiveBcastRecvV2")
    .Output("data: T")
    .Attr("T: {bool, float, half, double, int32, int64}")
    .With(GroupInputs)
    .Input("shape: Tshape")
    .HostMemory("shape")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .With(CollectiveCall)
    .Shape(BcastRecvShape)
    .Cpu<CollectiveBcastRecvV2>()
    .Doc("Receives a tensor that another member of the group broadcasts.");

OP("CollectiveAssignGroupV2")
    .Input("group_assignment: int32")
    .Input("device_index: int32")
    .Input("base_key: int32")
    .Output("group_size: int32")
    .Output("group_key: int32")
    .Shape(ScalarShape)
    .Cpu(CollectiveAssignGroup)
    .Doc("The size and key of the group that a device belongs to.");

}  // namespace
}  // namespace millstream
