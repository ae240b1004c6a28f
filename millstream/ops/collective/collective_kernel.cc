// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/collective/collective_kernel.h"

#include "millstream/framework/op_traits.h"
#include "millstream/graph/reserved_attrs.h"

namespace millstream {

CollectiveKernel::CollectiveKernel(KernelInit& init, collective::OpKind kind)
    : kind_(kind), session_(init.functions()) {
  if (init.HasAttr("timeout_seconds")) timeout_seconds_ = init.Attr<float>("timeout_seconds");
  if (init.HasAttr(kReductionsTogetherAttr)) {
    const auto together = init.Attr<std::vector<int64_t>>(kReductionsTogetherAttr);
    if (together.size() == 2) together_ = together[0], gate_ = together[1];
  }
}

CollectiveKernel::~CollectiveKernel() {
  MutexLock lock(mu_);
  if (hub_) hub_->ForgetUser(session_);
}

StatusOr<collective::OpHub*> CollectiveKernel::FindHub(ResourceManager* resources) {
  MutexLock lock(mu_);
  if (resources_ != resources) {
    ASSIGN_OR_RETURN(hub_, resources->LookupOrCreate<collective::OpHub>(
                               collective::OpHub::kContainer, collective::OpHub::kName,
                               []() -> StatusOr<Ref<collective::OpHub>> { return MakeRef<collective::OpHub>(); }));
    resources_ = resources;
  }
  return hub_.get();
}

void CollectiveKernel::ComputeAsync(KernelContext& ctx, Done done) {
  collective::OpRequest request;
  request.kind = kind_;
  request.member = ctx.device()->name();
  request.timeout_seconds = timeout_seconds_;
  request.together = together_;
  request.gate = gate_;
  request.cancellation = ctx.cancellation();
  request.user = session_;
  request.dtype = ctx.output_dtype(0);
  if (Status status = Prepare(ctx, &request); !status.ok()) return done(std::move(status));
  const StatusOr<collective::OpHub*> hub = FindHub(ctx.resources());
  if (!hub.ok()) return done(hub.status());
  (*hub)->Run(std::move(request), [this, &ctx, done = std::move(done)](Status status, Tensor output) {
    if (status.ok()) status = Check(ctx, output);
    if (status.ok()) ctx.set_output(0, std::move(output));
    done(std::move(status));
  });
}

void CollectiveCall(OpBuilder& op) {
  op.Attr("communication_hint: string = 'auto'").Attr("timeout_seconds: float = 0").Stateful().MayBlock();
}

void ReducesOverGroup(OpBuilder& op) { op.Trait(OpTrait::kReducesOverGroup); }

StatusOr<collective::ReduceOp> ReduceOpFromName(const std::string& name) {
  if (name == "Add" || name == "sum") return collective::ReduceOp::kSum;
  if (name == "Mul" || name == "prod") return collective::ReduceOp::kProduct;
  if (name == "Min" || name == "min") return collective::ReduceOp::kMin;
  if (name == "Max" || name == "max") return collective::ReduceOp::kMax;
  return errors::InvalidArgument("merge_op must be one of {\"Min\", \"Max\", \"Mul\", \"Add\"} but got ", name);
}

StatusOr<collective::ReduceOp> WithFinalOp(collective::ReduceOp op, const std::string& final_op) {
  if (final_op == "Id") return op;
  if (final_op == "Div" && op == collective::ReduceOp::kSum) return collective::ReduceOp::kMean;
  return errors::Unimplemented("final_op ", final_op, " goes with merge_op Add alone");
}

StatusOr<int32_t> ScalarInput(const KernelContext& ctx, int i, const char* name) {
  const Tensor& input = ctx.input(i);
  if (input.rank() != 0) {
    return errors::InvalidArgument("Unexpected dimensions on input ", name, ": ", input.shape().ToString());
  }
  return input.scalar<int32_t>();
}

Status CheckGroupSize(int64_t group_size) {
  if (group_size > 0 && group_size <= INT32_MAX) return OkStatus();
  return errors::InvalidArgument("group_size must be positive integer but got ", group_size);
}

Status GatheredShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &shape));
  if (!shape.rank_known()) return OkStatus();
  int64_t group_size = 0;
  RETURN_IF_ERROR(c.GetAttr("group_size", &group_size));
  if (shape.dim(0) >= 0) {
    const bool fits = group_size > 0 && shape.dim(0) <= INT64_MAX / group_size;
    shape.set_dim(0, fits ? shape.dim(0) * group_size : -1);
  }
  c.set_output(0, shape);
  return OkStatus();
}

Status UnknownRowsShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &shape));
  if (shape.rank_known()) shape.set_dim(0, -1);
  c.set_output(0, shape);
  return OkStatus();
}

}  // namespace millstream
