// SPDX-License-Identifier: Apache-2.0
// Collectives whose group is given by attributes: those of TensorFlow 1's CollectiveAllReduceStrategy.
#include "millstream/ops/collective/collective_kernel.h"

namespace millstream {
namespace {

// The group and instance of an op, from its attributes.
struct GroupAttrs {
  explicit GroupAttrs(KernelInit& init)
      : size(init.Attr<int64_t>("group_size")),
        group(absl::StrCat(init.Attr<int64_t>("group_key"))),
        instance(absl::StrCat(init.Attr<int64_t>("instance_key"))) {
    init.Check(CheckGroupSize(size));
  }
  void Fill(collective::OpRequest* request) const {
    request->group = group;
    request->instance = instance;
    request->group_size = static_cast<int>(size);
  }
  const int64_t size;
  const std::string group, instance;
};

class CollectiveReduce final : public CollectiveKernel {
 public:
  explicit CollectiveReduce(KernelInit& init) : CollectiveKernel(init, collective::OpKind::kReduce), group_(init) {
    StatusOr<collective::ReduceOp> op = ReduceOpFromName(init.Attr<std::string>("merge_op"));
    if (op.ok()) op = WithFinalOp(*op, init.Attr<std::string>("final_op"));
    if (op.ok()) op_ = *op;
    init.Check(op.status());
  }

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override {
    group_.Fill(request);
    request->op = op_;
    request->input = ctx.input(0);
    return OkStatus();
  }

  const GroupAttrs group_;
  collective::ReduceOp op_ = collective::ReduceOp::kSum;
};

class CollectiveGather final : public CollectiveKernel {
 public:
  explicit CollectiveGather(KernelInit& init)
      : CollectiveKernel(init, collective::OpKind::kGather), group_(init), shape_(init.Attr<PartialShape>("shape")) {}

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override {
    group_.Fill(request);
    if (ctx.input(0).rank() == 0) return errors::InvalidArgument("input should have rank > 0, ", "recieved 0");
    request->input = ctx.input(0);
    return OkStatus();
  }

  const GroupAttrs group_;
  const PartialShape shape_;  // of the result, as the client wants it; often it is not fully known
};

class CollectiveBcastSend final : public CollectiveKernel {
 public:
  explicit CollectiveBcastSend(KernelInit& init)
      : CollectiveKernel(init, collective::OpKind::kBroadcast),
        group_(init),
        shape_(init.Attr<PartialShape>("shape")) {}

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override {
    group_.Fill(request);
    request->is_source = true;
    request->input = ctx.input(0);
    if (shape_.IsCompatibleWith(ctx.input(0).shape())) return OkStatus();
    return errors::Internal("Declared shape of op ", ctx.node_name(), " does not match shape of input");
  }

  const GroupAttrs group_;
  const PartialShape shape_;
};

class CollectiveBcastRecv final : public CollectiveKernel {
 public:
  explicit CollectiveBcastRecv(KernelInit& init)
      : CollectiveKernel(init, collective::OpKind::kBroadcast),
        group_(init),
        shape_(init.Attr<PartialShape>("shape")) {}

 private:
  Status Prepare(KernelContext&, collective::OpRequest* request) override {
    group_.Fill(request);
    return OkStatus();
  }
  Status Check(const KernelContext&, const Tensor& output) const override {
    if (shape_.IsCompatibleWith(output.shape())) return OkStatus();
    return errors::InvalidArgument("Shape mismatch: a broadcast brought ", output.shape().ToString(), " where ",
                                   shape_.ToString(), " was declared");
  }

  const GroupAttrs group_;
  const PartialShape shape_;
};

void GroupAttributes(OpBuilder& op) { op.Attr("group_size: int").Attr("group_key: int").Attr("instance_key: int"); }

OP("CollectiveReduce")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .With(GroupAttributes)
    .Attr("merge_op: {'Min', 'Max', 'Mul', 'Add'}")
    .Attr("final_op: {'Id', 'Div'}")
    .Attr("subdiv_offsets: list(int)")
    .Attr("wait_for: list(int) = []")
    .With(CollectiveCall)
    .With(ReducesOverGroup)
    .Shape(UnchangedShape)
    .Cpu<CollectiveReduce>()
    .Doc("Reduces tensors of the same shape over the members of a group.");

OP("CollectiveGather")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {float, half, double, int32, int64}")
    .With(GroupAttributes)
    .Attr("shape: shape")
    .With(CollectiveCall)
    .With(ReducesOverGroup)
    .Shape(GatheredShape)
    .Cpu<CollectiveGather>()
    .Doc("Concatenates the tensors of all members of a group, in the order of their devices.");

OP("CollectiveBcastSend")
    .Input("input: T")
    .Output("data: T")
    .Attr("T: {bool, float, half, double, int32, int64}")
    .With(GroupAttributes)
    .Attr("shape: shape")
    .With(CollectiveCall)
    .Shape(ShapeFromAttr)
    .Cpu<CollectiveBcastSend>()
    .Doc("Sends a tensor to all other members of a group.");

OP("CollectiveBcastRecv")
    .Output("data: T")
    .Attr("T: {bool, float, half, double, int32, int64}")
    .With(GroupAttributes)
    .Attr("shape: shape")
    .With(CollectiveCall)
    .Shape(ShapeFromAttr)
    .Cpu<CollectiveBcastRecv>()
    .Doc("Receives a tensor that another member of the group broadcasts.");

}  // namespace
}  // namespace millstream
