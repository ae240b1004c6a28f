// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/queues/staleness_clock.h"
#include "millstream/ops/resources/named_resource.h"

// Bounded staleness of workers that train asynchronously (train::StaleSynchronousOptimizer). TensorFlow has no such
// ops.
namespace millstream {
namespace {

class StalenessClockOp final : public Kernel {
 public:
  explicit StalenessClockOp(KernelInit& init) : clock_(init, "N10millstream14StalenessClockE") {
    options_.name = clock_.name();
    if (init.device() != nullptr) options_.device = init.device()->name();
    options_.census = Census::Of(init.resources());
    options_.num_workers = init.Attr<int64_t>("num_workers");
    options_.bound = init.Attr<int64_t>("staleness");
  }

  Status Compute(KernelContext& ctx) override {
    if (options_.num_workers < 1 || options_.num_workers > StalenessClock::kMaxWorkers) {
      return errors::InvalidArgument("num_workers must be between 1 and ", StalenessClock::kMaxWorkers, ": ",
                                     options_.num_workers);
    }
    if (options_.bound < 0 || options_.bound > StalenessClock::kMaxBound) {
      return errors::InvalidArgument("staleness must be between 0 and ", StalenessClock::kMaxBound, ": ",
                                     options_.bound);
    }
    return clock_.Output(
        ctx, [this] { return MakeRef<StalenessClock>(options_); },
        [this](const StalenessClock& found) { return CheckShared(found.options()); });
  }

 private:
  Status CheckShared(const StalenessClock::Options& o) const {
    if (o.num_workers == options_.num_workers && o.bound == options_.bound) return OkStatus();
    return errors::InvalidArgument("Shared staleness clock '", options_.name, "' is for ", o.num_workers,
                                   " workers and staleness ", o.bound, "; requested were ", options_.num_workers,
                                   " workers and staleness ", options_.bound);
  }

  StalenessClock::Options options_;
  NamedResource<StalenessClock> clock_;
};

StatusOr<int64_t> WorkerInput(const KernelContext& ctx) {
  if (ctx.input(1).rank() == 0) return ctx.input(1).scalar<int64_t>();
  return errors::InvalidArgument("worker must be a scalar, but has shape ", ctx.input(1).shape().ToString());
}

template <void (StalenessClock::*kCall)(int64_t, KernelContext&, AsyncKernel::Done)>
class WaitOp final : public AsyncKernel {
 public:
  explicit WaitOp(KernelInit&) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    const StatusOr<Ref<StalenessClock>> clock = ctx.ResourceInput<StalenessClock>(0);
    if (!clock.ok()) return done(clock.status());
    const StatusOr<int64_t> worker = WorkerInput(ctx);
    if (!worker.ok()) return done(worker.status());
    ((**clock).*kCall)(*worker, ctx, std::move(done));
  }
};

template <void (StalenessClock::*kCall)(int64_t, KernelContext&, AsyncKernel::Done)>
void WaitsForSlowWorkers(OpBuilder& op) {
  op.Input("clock: resource")
      .Input("worker: int64")
      .Output("lead: int64")
      .Stateful()
      .Shape(ScalarShape)
      .NotDifferentiable()
      .Cpu<WaitOp<kCall>>();
}

Status LeaveCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<StalenessClock> clock, ctx.ResourceInput<StalenessClock>(0));
  ASSIGN_OR_RETURN(const int64_t worker, WorkerInput(ctx));
  return clock->Leave(worker);
}

OP("StalenessClock")
    .Output("handle: resource")
    .Attr("num_workers: int")
    .Attr("staleness: int")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<StalenessClockOp>()
    .Doc("Counts the steps of workers, none of which may be more than `staleness` steps ahead of another.");

OP("StalenessClockJoin")
    .With(WaitsForSlowWorkers<&StalenessClock::Join>)
    .Doc("Waits until the worker may begin a step, and gives by how many steps it is ahead of the slowest one.");

OP("StalenessClockAdvance")
    .With(WaitsForSlowWorkers<&StalenessClock::Advance>)
    .Doc("Counts a step of the worker, then does what StalenessClockJoin does.");

OP("StalenessClockLeave")
    .Input("clock: resource")
    .Input("worker: int64")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(LeaveCpu)
    .Doc("The other workers no longer wait for this one.");

}  // namespace
}  // namespace millstream
