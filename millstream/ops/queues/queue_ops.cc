// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/match.h"
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/queues/queue.h"
#include "millstream/ops/queues/queue_batch.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

Queue::Waiter WaiterOf(KernelContext& ctx, int64_t* added = nullptr) {
  return {ctx.cancellation(), ctx.step().pool, added};
}

void RefuseTimeout(KernelInit& init) {
  if (init.Attr<int64_t>("timeout_ms") != -1) init.Fail(errors::InvalidArgument("Timeout not supported yet."));
}

// One element, or with `many` the rows of a batch. Its progress: elements that were added.
template <bool kMany>
class Enqueue final : public AsyncOnceAStep {
 public:
  explicit Enqueue(KernelInit& init) : types_(init.Attr<std::vector<DType>>("Tcomponents")) { RefuseTimeout(init); }

  void ComputeFrom(KernelContext& ctx, int64_t* progress, Done done) override {
    StatusOr<Ref<Queue>> queue = HandleInput<Queue>(ctx, 0);
    if (!queue.ok()) return done(queue.status());
    StatusOr<std::vector<QueueElement>> elements = Elements(ctx, **queue);
    if (!elements.ok()) return done(elements.status());
    if (progress != nullptr)  // an attempt that was cancelled may have added some
      elements->erase(elements->begin(), elements->begin() + std::min(*progress, std::ssize(*elements)));
    (*queue)->Enqueue(*std::move(elements), WaiterOf(ctx, progress), std::move(done));
  }

 private:
  StatusOr<std::vector<QueueElement>> Elements(KernelContext& ctx, const Queue& queue) const {
    if (types_ != queue.options().types) {
      return errors::InvalidArgument("Signature mismatch, have: ", TypeNames(types_),
                                     " expected: ", TypeNames(queue.options().types));
    }
    QueueElement tuple;
    for (int i = 1; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.TakeInput(i));
    RETURN_IF_ERROR(queue.CheckElement(tuple, kMany));
    if (kMany) return SplitBatch(tuple);
    std::vector<QueueElement> one;
    one.push_back(std::move(tuple));
    return one;
  }

  const std::vector<DType> types_;
};

Status CheckOutputs(const std::vector<DType>& types, const Queue& queue) {
  if (types == queue.options().types) return OkStatus();
  return errors::InvalidArgument("Signature mismatch, have: ", TypeNames(types),
                                 " expected: ", TypeNames(queue.options().types));
}

class Dequeue final : public AsyncOnceAStep {
 public:
  explicit Dequeue(KernelInit& init) : types_(init.Attr<std::vector<DType>>("component_types")) { RefuseTimeout(init); }

  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Queue>> queue = HandleInput<Queue>(ctx, 0);
    if (!queue.ok()) return done(queue.status());
    if (Status status = CheckOutputs(types_, **queue); !status.ok()) return done(status);
    (*queue)->Dequeue(1, false, WaiterOf(ctx),
                      [&ctx, done = std::move(done)](StatusOr<std::vector<QueueElement>> taken) {
                        if (!taken.ok()) return done(taken.status());
                        QueueElement& element = taken->front();
                        for (size_t i = 0; i < element.size(); ++i)
                          ctx.set_output(static_cast<int>(i), std::move(element[i]));
                        done(OkStatus());
                      });
  }

 private:
  const std::vector<DType> types_;
};

// A batch of n elements; with kUpTo the last batch of a closed queue may be
// smaller.
template <bool kUpTo>
class DequeueMany final : public AsyncOnceAStep {
 public:
  explicit DequeueMany(KernelInit& init) : types_(init.Attr<std::vector<DType>>("component_types")) {
    RefuseTimeout(init);
  }

  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Queue>> found = HandleInput<Queue>(ctx, 0);
    if (!found.ok()) return done(found.status());
    Ref<Queue> queue = *std::move(found);
    if (Status status = Check(ctx, *queue); !status.ok()) return done(status);
    const int64_t n = ctx.input(1).scalar<int32_t>();
    if (n == 0) return done(Batch(ctx, *queue, {}));
    Queue& q = *queue;
    q.Dequeue(n, kUpTo, WaiterOf(ctx),
              [&ctx, queue = std::move(queue), done = std::move(done)](StatusOr<std::vector<QueueElement>> taken) {
                done(taken.ok() ? Batch(ctx, *queue, *taken) : taken.status());
              });
  }

 private:
  Status Check(KernelContext& ctx, const Queue& queue) const {
    RETURN_IF_ERROR(CheckOutputs(types_, queue));
    if (queue.options().shapes.size() != types_.size()) {
      return errors::InvalidArgument(queue.options().kind,
                                     "'s DequeueMany and DequeueUpTo require the components to have "
                                     "specified shapes.");
    }
    const Tensor& n = ctx.input(1);
    if (n.rank() != 0) return errors::InvalidArgument("n must be a scalar, got shape ", n.shape().ToString());
    if (n.scalar<int32_t>() < 0)
      return errors::InvalidArgument("DequeueManyOp requested ", n.scalar<int32_t>(), " < 0 elements");
    return OkStatus();
  }

  static Status Batch(KernelContext& ctx, const Queue& queue, const std::vector<QueueElement>& elements) {
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor batch, MakeBatch(elements, i, queue.options().types[i], queue.options().shapes[i],
                                               queue.options().pad));
      ctx.set_output(i, std::move(batch));
    }
    return OkStatus();
  }

  const std::vector<DType> types_;
};

class QueueClose final : public AsyncOnceAStep {
 public:
  explicit QueueClose(KernelInit& init) : cancel_(init.Attr<bool>("cancel_pending_enqueues")) {}

  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Queue>> queue = HandleInput<Queue>(ctx, 0);
    if (!queue.ok()) return done(queue.status());
    (*queue)->Close(cancel_, WaiterOf(ctx), std::move(done));
  }

 private:
  const bool cancel_;
};

Status SizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Queue> queue, HandleInput<Queue>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(queue->Size())));
  return OkStatus();
}

Status IsClosedCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Queue> queue, HandleInput<Queue>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(queue->IsClosed()));
  return OkStatus();
}

// The batch size, where it is constant and cannot get smaller, is known; the
// rest is in the queue.
Status DequeueShape(ShapeContext& c) {
  int64_t n = 0;
  if (c.num_inputs() == 2 && c.ConstantInt(1, &n) && n < 0) {
    return errors::InvalidArgument("Input 'n' must be >= 0, but is ", n);
  }
  return OkStatus();
}

// Each op exists with a resource handle, and under its older name with a reference to a handle of strings.
void OnHandle(OpBuilder& op) { op.Input("handle: resource").Stateful(); }
void OnReference(OpBuilder& op) { op.Input("handle: Ref(string)").NotDifferentiable(); }

template <bool many>
void EnqueueOp(OpBuilder& op) {
  op.Input("components: Tcomponents")
      .Attr("Tcomponents: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(NoOutputs)
      .Cpu<Enqueue<many>>()
      .Doc(many ? "Adds the rows of a batch to a queue, as room appears."
                : "Adds an element to a queue, when there is room.");
}
OP("QueueEnqueueV2").With(OnHandle).With(EnqueueOp<false>);
OP("QueueEnqueue").With(OnReference).With(EnqueueOp<false>);
OP("QueueEnqueueManyV2").With(OnHandle).With(EnqueueOp<true>);
OP("QueueEnqueueMany").With(OnReference).With(EnqueueOp<true>);

void DequeueArgs(OpBuilder& op) {
  op.Output("components: component_types")
      .Attr("component_types: list(type) >= 1")
      .Attr("timeout_ms: int = -1")
      .Shape(DequeueShape);
}
void DequeueOp(OpBuilder& op) {
  op.With(DequeueArgs).Cpu<Dequeue>().Doc("Takes an element from a queue, when there is one.");
}
OP("QueueDequeueV2").With(OnHandle).With(DequeueOp);
OP("QueueDequeue").With(OnReference).With(DequeueOp);

template <bool up_to>
void DequeueManyOp(OpBuilder& op) {
  op.Input("n: int32")
      .With(DequeueArgs)
      .Cpu<DequeueMany<up_to>>()
      .Doc(up_to ? "Takes a batch of n elements from a queue, or what is left once it is closed."
                 : "Takes a batch of n elements from a queue.");
}
OP("QueueDequeueManyV2").With(OnHandle).With(DequeueManyOp<false>);
OP("QueueDequeueMany").With(OnReference).With(DequeueManyOp<false>);
OP("QueueDequeueUpToV2").With(OnHandle).With(DequeueManyOp<true>);
OP("QueueDequeueUpTo").With(OnReference).With(DequeueManyOp<true>);

void CloseOp(OpBuilder& op) {
  op.Attr("cancel_pending_enqueues: bool = false")
      .Shape(NoOutputs)
      .Cpu<QueueClose>()
      .Doc("Ends a queue: no more elements come.");
}
OP("QueueCloseV2").With(OnHandle).With(CloseOp);
OP("QueueClose").With(OnReference).With(CloseOp);

void SizeOp(OpBuilder& op) {
  op.Output("size: int32").Shape(ScalarShape).Cpu(SizeCpu).Doc("The number of elements in a queue.");
}
OP("QueueSizeV2").With(OnHandle).With(SizeOp);
OP("QueueSize").With(OnReference).With(SizeOp);

void IsClosedOp(OpBuilder& op) {
  op.Output("is_closed: bool").Shape(ScalarShape).Cpu(IsClosedCpu).Doc("Whether a queue was closed.");
}
OP("QueueIsClosedV2").With(OnHandle).With(IsClosedOp);
OP("QueueIsClosed").With(OnReference).With(IsClosedOp);

}  // namespace
}  // namespace millstream
