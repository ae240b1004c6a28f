// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/memory_budget.h"
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/framework/step_exchange.h"

namespace millstream {
namespace {

// The number of the cut edge: given by the partitioner alone, so a node that a program brings along is refused.
uint32_t EdgeOf(KernelInit& init) {
  if (!init.HasAttr("_edge")) {
    init.Fail(errors::InvalidArgument("Op '", init.op().name,
                                      "' is made when a graph is cut between tasks; a program cannot use it"));
    return 0;
  }
  return static_cast<uint32_t>(init.Attr<int64_t>("_edge"));
}

StatusOr<StepExchange*> ExchangeOf(const KernelContext& ctx) {
  if (ctx.step().exchange != nullptr) return ctx.step().exchange;
  return errors::Internal("A transfer between tasks ran in a step of one process");
}

Tensor ValueOf(KernelContext& ctx) { return ctx.dead() ? Tensor() : ctx.input(0); }

class Send final : public Kernel {
 public:
  explicit Send(KernelInit& init) : edge_(EdgeOf(init)) {}
  Status Compute(KernelContext& ctx) override {
    const AllocationsMayFail never(false);  // a frame must not end half-way
    ASSIGN_OR_RETURN(StepExchange * exchange, ExchangeOf(ctx));
    return exchange->Send(edge_, ctx.tag(), ValueOf(ctx), ctx.dead());
  }

 private:
  const uint32_t edge_;
};

class LoopSend final : public AsyncKernel {
 public:
  explicit LoopSend(KernelInit& init) : edge_(EdgeOf(init)) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<StepExchange*> exchange = ExchangeOf(ctx);
    if (!exchange.ok()) return done(exchange.status());
    (*exchange)->SendInLoop(edge_, ctx.tag(), ValueOf(ctx), ctx.dead(), std::move(done));
  }

 private:
  const uint32_t edge_;
};

class Recv final : public AsyncKernel {
 public:
  explicit Recv(KernelInit& init)
      : edge_(EdgeOf(init)), may_be_dead_(init.HasAttr("_may_be_dead") && init.Attr<bool>("_may_be_dead")) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<StepExchange*> exchange = ExchangeOf(ctx);
    if (!exchange.ok()) return done(exchange.status());
    (*exchange)->Receive(
        edge_, ctx.tag(), [this, &ctx, done = std::move(done)](Status status, Tensor value, bool dead) {
          if (!status.ok()) return done(std::move(status));
          if (dead) {
            // Such a plan runs without looking at branches.
            if (!may_be_dead_)
              return done(errors::Internal("Received news of a branch not taken where there are none"));
            ctx.set_output_dead(0);
          } else if (value.dtype() != ctx.output_dtype(0)) {
            return done(errors::InvalidArgument("Received ", DTypeName(value.dtype()), " where ",
                                                DTypeName(ctx.output_dtype(0)), " was expected"));
          } else {
            ctx.set_output(0, std::move(value));
          }
          done(OkStatus());
        });
  }

 private:
  const uint32_t edge_;
  const bool may_be_dead_;
};

Status NoOutputs(ShapeContext&) { return OkStatus(); }
Status UnknownShape(ShapeContext&) { return OkStatus(); }

// Attributes as TensorFlow has them, so that programs that name these ops are read; the partitioner uses "_edge" alone.
OP("_Send")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kSend))
    .Input("tensor: T")
    .Attr("T: type")
    .Attr("tensor_name: string = ''")
    .Attr("send_device: string = ''")
    .Attr("send_device_incarnation: int = 0")
    .Attr("recv_device: string = ''")
    .Attr("client_terminated: bool = false")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<Send>()
    .HostMemory(kAllArgs)
    .Doc("Sends a tensor to another task.");

OP("_LoopSend")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kLoopSend))
    .Input("tensor: T")
    .Attr("T: type")
    .Attr("tensor_name: string = ''")
    .Attr("send_device: string = ''")
    .Attr("recv_device: string = ''")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<LoopSend>()
    .HostMemory(kAllArgs)
    .Doc("Sends a tensor to another task from inside a loop, and waits until it was taken there.");

OP("_Recv")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kRecv))
    .Output("tensor: tensor_type")
    .Attr("tensor_type: type")
    .Attr("tensor_name: string = ''")
    .Attr("send_device: string = ''")
    .Attr("send_device_incarnation: int = 0")
    .Attr("recv_device: string = ''")
    .Attr("client_terminated: bool = false")
    .Stateful()
    .Shape(UnknownShape)
    .Cpu<Recv>()
    .HostMemory(kAllArgs)
    .Doc("Receives a tensor from another task.");

}  // namespace
}  // namespace millstream
