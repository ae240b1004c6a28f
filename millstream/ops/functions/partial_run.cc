// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/memory_budget.h"
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/framework/partial_exchange.h"
#include "millstream/graph/reserved_attrs.h"

namespace millstream {
namespace {

StatusOr<Ref<PartialExchange>> FindExchange(const KernelContext& ctx) {
  return ctx.step_resources()->Lookup<PartialExchange>("", PartialExchange::kName);
}

// What a program brings along is refused: its numbers mean nothing.
void CheckMadeBySession(KernelInit& init) {
  if (init.HasAttr(kPartialRunAttr)) return;
  init.Fail(errors::InvalidArgument("Op '", init.op().name,
                                    "' is made when a graph is run in parts; a program cannot use it"));
}

// Waits for a value that the caller feeds later.
class PartialFeed final : public AsyncKernel {
 public:
  explicit PartialFeed(KernelInit& init) : index_(init.Attr<int64_t>("index")) { CheckMadeBySession(init); }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<Ref<PartialExchange>> exchange = FindExchange(ctx);
    if (!exchange.ok()) return done(exchange.status());
    (*exchange)->WaitForFeed(static_cast<size_t>(index_), [&ctx, done = std::move(done)](Status status, Tensor value) {
      if (status.ok()) ctx.set_output(0, std::move(value));
      done(std::move(status));
    });
  }

 private:
  const int64_t index_;
};

// Hands a value out before the step is over.
class PartialFetch final : public Kernel {
 public:
  explicit PartialFetch(KernelInit& init) : index_(init.Attr<int64_t>("index")) { CheckMadeBySession(init); }

  Status Compute(KernelContext& ctx) override {
    const AllocationsMayFail never(false);  // who waits for it goes on within
    ASSIGN_OR_RETURN(const Ref<PartialExchange> exchange, FindExchange(ctx));
    return exchange->PutFetch(static_cast<size_t>(index_), ctx.input(0));
  }

 private:
  const int64_t index_;
};

OP("_PartialFeed")
    .Trait(OpTrait::kAnyDevice)
    .Output("output: T")
    .Attr("T: type")
    .Attr("index: int >= 0")
    .Stateful()
    .Shape(UnknownShape)
    .Cpu<PartialFeed>()
    .HostMemory(kAllArgs)
    .Doc("A value that the caller of a partial run feeds.");

OP("_PartialFetch")
    .Trait(OpTrait::kAnyDevice)
    .Input("input: T")
    .Attr("T: type")
    .Attr("index: int >= 0")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<PartialFetch>()
    .HostMemory(kAllArgs)
    .Doc("A value that the caller of a partial run fetches.");

}  // namespace
}  // namespace millstream
