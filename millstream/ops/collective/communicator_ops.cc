// SPDX-License-Identifier: Apache-2.0
// Collectives of communicators: ranks are given, and an assignment of ranks to groups comes with each call.
#include "millstream/ops/collective/collective_kernel.h"

namespace millstream {
namespace {

class Communicator final : public Resource {
 public:
  Communicator(int32_t group_key, int32_t rank, int32_t group_size)
      : group_key(group_key), rank(rank), group_size(group_size) {}
  std::string DebugString() const override { return absl::StrCat("communicator of group ", group_key); }
  const int32_t group_key, rank, group_size;
};

Status InitializeCommunicator(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const int32_t group_key, ScalarInput(ctx, 0, "group_key"));
  ASSIGN_OR_RETURN(const int32_t rank, ScalarInput(ctx, 1, "rank"));
  ASSIGN_OR_RETURN(const int32_t group_size, ScalarInput(ctx, 2, "group_size"));
  RETURN_IF_ERROR(CheckGroupSize(group_size));
  if (rank < 0 || rank >= group_size) {
    return errors::InvalidArgument("rank must be less than group size but got ", rank, " >= ", group_size);
  }
  ResourceHandle handle;
  handle.device = ctx.device()->name();
  handle.container = "collective";
  handle.name = absl::StrCat("communicator ", group_key, "/", rank);
  handle.type_name = "CollectiveCommunicator";
  ASSIGN_OR_RETURN(Ref<Communicator> communicator,
                   ctx.resources()->LookupOrCreate<Communicator>(
                       handle.container, handle.name, [&]() -> StatusOr<Ref<Communicator>> {
                         return MakeRef<Communicator>(group_key, rank, group_size);
                       }));
  if (communicator->group_size != group_size) {
    return errors::Internal("Rank ", rank, " of group ", group_key, " is initialized with size ", group_size,
                            ", but that group has size ", communicator->group_size);
  }
  handle.resource = Ref<Resource>(std::move(communicator));
  Tensor output(DType::kResource, Shape());
  output.data<ResourceHandle>()[0] = std::move(handle);
  ctx.set_output(0, std::move(output));
  return OkStatus();
}

// The row of the assignment that the rank is in makes the group. An empty assignment: all ranks.
Status FillFromAssignment(const Communicator& communicator, const Tensor& assignment, collective::OpRequest* request) {
  request->member = absl::StrCat("rank ", communicator.rank);
  request->instance = "communicator";
  if (assignment.num_elements() == 0) {
    request->group_size = communicator.group_size;
    request->group = absl::StrCat("communicator ", communicator.group_key);
    return OkStatus();
  }
  if (assignment.rank() != 2) {
    return errors::InvalidArgument("group_assignment must have rank 2, got ", assignment.shape().ToString());
  }
  const auto cells = assignment.flat<int32_t>();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] != communicator.rank) continue;
    request->group_size = static_cast<int>(assignment.dim(1));
    request->group = absl::StrCat("communicator ", communicator.group_key, " of ", assignment.dim(1), " row ",
                                  static_cast<int64_t>(i) / assignment.dim(1));
    return OkStatus();
  }
  return errors::InvalidArgument("Rank ", communicator.rank, " is not in the group_assignment ",
                                 assignment.SummarizeValue(100));
}

template <collective::OpKind kKind>
class CollectiveV3 final : public CollectiveKernel {
 public:
  explicit CollectiveV3(KernelInit& init) : CollectiveKernel(init, kKind) {
    if (!init.HasAttr("reduction")) return;
    const StatusOr<collective::ReduceOp> op = ReduceOpFromName(init.Attr<std::string>("reduction"));
    if (op.ok()) op_ = *op;
    init.Check(op.status());
  }

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override {
    ASSIGN_OR_RETURN(const Ref<Communicator> communicator, ctx.ResourceInput<Communicator>(1));
    request->op = op_;
    request->input = ctx.input(0);
    if (kKind == collective::OpKind::kAllToAll && ctx.input(0).rank() == 0) {
      return errors::InvalidArgument("input should have rank > 0, ", "recieved 0");
    }
    return FillFromAssignment(*communicator, ctx.input(2), request);
  }

  collective::ReduceOp op_ = collective::ReduceOp::kSum;
};

OP("CollectiveInitializeCommunicator")
    .Input("group_key: int32")
    .Input("rank: int32")
    .Input("group_size: int32")
    .Output("communicator: resource")
    .Attr("communication_hint: string = 'auto'")
    .Attr("timeout_seconds: float = 0")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(InitializeCommunicator)
    .Doc("One rank's handle to a group whose members have given ranks.");

OP("CollectiveReduceV3")
    .Input("input: T")
    .Input("communicator: resource")
    .Input("group_assignment: int32")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("reduction: {'Min', 'Max', 'Mul', 'Add'}")
    .Attr("timeout_seconds: float = 0")
    .Stateful()
    .MayBlock()
    .With(ReducesOverGroup)
    .Shape(UnchangedShape)
    .Cpu<CollectiveV3<collective::OpKind::kReduce>>()
    .Doc("Reduces tensors over the ranks of a row of the assignment.");

OP("CollectiveAllToAllV3")
    .Input("input: T")
    .Input("communicator: resource")
    .Input("group_assignment: int32")
    .Output("data: T")
    .Attr("T: {bfloat16, float, half, double, int32, int64}")
    .Attr("timeout_seconds: float = 0")
    .Stateful()
    .MayBlock()
    .With(ReducesOverGroup)
    .Shape(UnchangedShape)
    .Cpu<CollectiveV3<collective::OpKind::kAllToAll>>()
    .Doc("Part i of every rank's tensor goes to rank i of its row of the assignment.");

}  // namespace
}  // namespace millstream
