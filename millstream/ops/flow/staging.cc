// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/flow/queue.h"

namespace millstream {
namespace {

// Ops meet in the area of one name: a queue whose limit, if any, is a number of elements. (A limit of memory is
// accepted and not enforced.)
class StagingArea {
 public:
  explicit StagingArea(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node_name();
    options_.kind = "Staging";
    options_.name = name_;
    options_.types = init.Attr<std::vector<DType>>("dtypes");
    const auto capacity = init.Attr<int64_t>("capacity");
    options_.capacity = capacity > 0 ? capacity : -1;
  }
  StatusOr<Ref<Queue>> Find(const KernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<Queue>(container_, "staging/" + name_, [this]() -> StatusOr<Ref<Queue>> {
      return MakeRef<Queue>(options_, std::make_unique<FifoStore>());
    });
  }
  static Queue::Waiter WaiterOf(KernelContext& ctx) { return {ctx.cancellation(), ctx.step().pool}; }

 private:
  const std::string container_;
  std::string name_;
  Queue::Options options_;
};

class Stage final : public AsyncKernel {
 public:
  explicit Stage(KernelInit& init) : area_(init) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<Ref<Queue>> queue = area_.Find(ctx);
    if (!queue.ok()) return done(queue.status());
    QueueElement tuple;
    for (int i = 0; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.TakeInput(i));
    if (Status status = (*queue)->CheckElement(tuple, false); !status.ok()) return done(status);
    std::vector<QueueElement> one;
    one.push_back(std::move(tuple));
    (*queue)->Enqueue(std::move(one), StagingArea::WaiterOf(ctx), std::move(done));
  }

 private:
  const StagingArea area_;
};

class Unstage final : public AsyncKernel {
 public:
  explicit Unstage(KernelInit& init) : area_(init) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<Ref<Queue>> queue = area_.Find(ctx);
    if (!queue.ok()) return done(queue.status());
    (*queue)->Dequeue(1, false, StagingArea::WaiterOf(ctx),
                      [&ctx, done = std::move(done)](StatusOr<std::vector<QueueElement>> taken) {
                        if (!taken.ok()) return done(taken.status());
                        QueueElement& element = taken->front();
                        if (static_cast<int>(element.size()) != ctx.num_outputs()) {
                          return done(errors::InvalidArgument("Mismatch stage/unstage: ", element.size(), " vs. ",
                                                              ctx.num_outputs()));
                        }
                        for (size_t i = 0; i < element.size(); ++i) {
                          if (element[i].dtype() != ctx.output_dtype(static_cast<int>(i))) {
                            return done(errors::InvalidArgument("Mismatch stage/unstage: types differ"));
                          }
                        }
                        for (size_t i = 0; i < element.size(); ++i) {
                          ctx.set_output(static_cast<int>(i), std::move(element[i]));
                        }
                        done(OkStatus());
                      });
  }

 private:
  const StagingArea area_;
};

class StageSize final : public Kernel {
 public:
  explicit StageSize(KernelInit& init) : area_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Queue> queue, area_.Find(ctx));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    out->scalar<int32_t>() = static_cast<int32_t>(queue->Size());
    return OkStatus();
  }

 private:
  const StagingArea area_;
};

#define LIMITS .Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0")
#define NAMES .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()

OP("Stage")
    .Input("values: dtypes") LIMITS
    .Attr("dtypes: list(type) >= 1") NAMES
    .Shape(NoOutputs)
    .Cpu<Stage>()
    .Doc("Puts values into a staging area; waits while it is full.");

OP("Unstage")
    .Output("values: dtypes") LIMITS
    .Attr("dtypes: list(type) >= 1") NAMES
    .Shape(UnknownShape)
    .Cpu<Unstage>()
    .Doc("Takes values out of a staging area; waits while it is empty.");

OP("StageSize")
    .Output("size: int32") LIMITS
    .Attr("dtypes: list(type)") NAMES
    .Shape(ScalarShape)
    .Cpu<StageSize>()
    .Doc("The number of tuples in a staging area.");

}  // namespace
}  // namespace millstream
