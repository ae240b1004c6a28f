// SPDX-License-Identifier: Apache-2.0
// NCCL's ops on devices of one process that have no NCCL: the same collectives in host memory.
#include "millstream/ops/collective/collective_kernel.h"

namespace millstream {
namespace {

// Ops with the same shared_name belong together.
template <collective::OpKind kKind, bool kHasInput>
class NcclKernel : public CollectiveKernel {
 public:
  explicit NcclKernel(KernelInit& init)
      : CollectiveKernel(init, kKind),
        devices_(init.Attr<int64_t>("num_devices")),
        name_(absl::StrCat("nccl ", init.Attr<std::string>("shared_name"))) {
    init.Check(CheckGroupSize(devices_));
    if (!init.HasAttr("reduction")) return;
    const StatusOr<collective::ReduceOp> op = ReduceOpFromName(init.Attr<std::string>("reduction"));
    if (op.ok()) op_ = *op;
    init.Check(op.status());
  }

 private:
  Status Prepare(KernelContext& ctx, collective::OpRequest* request) override {
    request->group = name_;
    request->instance = name_;
    request->one_process = true;
    request->group_size = static_cast<int>(devices_);
    request->op = op_;
    request->is_source = kHasInput && kKind == collective::OpKind::kBroadcast;
    if (kHasInput) request->input = ctx.input(0);
    return OkStatus();
  }

  const int64_t devices_;
  const std::string name_;
  collective::ReduceOp op_ = collective::ReduceOp::kSum;
};

// All inputs are here: what TensorFlow replaces by a send on each device and a receive on one.
class NcclReduce final : public Kernel {
 public:
  explicit NcclReduce(KernelInit& init) {
    const StatusOr<collective::ReduceOp> op = ReduceOpFromName(init.Attr<std::string>("reduction"));
    if (op.ok()) op_ = *op;
    init.Check(op.status());
  }
  Status Compute(KernelContext& ctx) override {
    std::vector<collective::OpRequest> requests(static_cast<size_t>(ctx.num_inputs()));
    std::vector<const collective::OpRequest*> all;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      collective::OpRequest& request = requests[static_cast<size_t>(i)];
      request.member = absl::StrCat("input ", i);
      request.dtype = ctx.output_dtype(0);
      request.op = op_;
      request.input = ctx.input(i);
      all.push_back(&request);
    }
    if (all.empty()) return errors::InvalidArgument("num_devices must be positive");
    RETURN_IF_ERROR(collective::CheckSameShapes(all));
    ASSIGN_OR_RETURN(Tensor sum, collective::ReduceRequests(all, static_cast<int>(all.size())));
    ctx.set_output(0, std::move(sum));
    return OkStatus();
  }

 private:
  collective::ReduceOp op_ = collective::ReduceOp::kSum;
};

Status NcclBroadcast(KernelContext& ctx) {
  ctx.set_output(0, ctx.TakeInput(0));
  return OkStatus();
}

OP("NcclAllReduce")
    .Input("input: T")
    .Output("data: T")
    .Attr("reduction: {'min', 'max', 'prod', 'sum'}")
    .Attr("T: {half, float, double, int32, int64}")
    .Attr("num_devices: int")
    .Attr("shared_name: string")
    .Stateful()
    .MayBlock()
    .With(ReducesOverGroup)
    .Shape(UnchangedShape)
    .Cpu<NcclKernel<collective::OpKind::kReduce, true>>()
    .Doc("Reduces tensors of the same shape over the ops with the same shared_name.");

OP("NcclReduce")
    .Input("input: num_devices * T")
    .Output("data: T")
    .Attr("reduction: {'min', 'max', 'prod', 'sum'}")
    .Attr("T: {half, float, double, int32, int64}")
    .Attr("num_devices: int")
    .Stateful()
    .Shape(UnchangedShape)
    .Cpu<NcclReduce>()
    .Doc("Reduces the inputs, which come from several devices.");

OP("NcclBroadcast")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {half, float, double, int32, int64}")
    .Attr("shape: shape")
    .Stateful()
    .Shape(UnchangedShape)
    .Cpu(NcclBroadcast)
    .Doc("Passes the input on to consumers on several devices.");

}  // namespace
}  // namespace millstream
