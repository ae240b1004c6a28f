// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/queues/barrier.h"
#include "millstream/ops/queues/queue_batch.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

Queue::Waiter WaiterOf(KernelContext& ctx) { return {ctx.cancellation(), ctx.step().pool}; }

class BarrierOp final : public Kernel {
 public:
  explicit BarrierOp(KernelInit& init)
      : types_(init.Attr<std::vector<DType>>("component_types")),
        shapes_(init.Attr<std::vector<PartialShape>>("shapes")),
        barrier_(init, "N10tensorflow7barrier7BarrierE") {
    if (shapes_.size() != types_.size()) {
      init.Fail(errors::InvalidArgument("All of the component shapes must be specified"));
    }
    if (init.Attr<int64_t>("capacity") != -1) {
      init.Fail(
          errors::InvalidArgument("Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a "
                                  "queue to enforce a limited capacity."));
    }
  }
  Status Compute(KernelContext& ctx) override {
    return barrier_.Output(
        ctx, [this] { return MakeRef<Barrier>(barrier_.name(), types_, shapes_); },
        [this](const Barrier& found) { return CheckShared(found); });
  }

 private:
  Status CheckShared(const Barrier& found) const {
    if (found.types() != types_) {
      return errors::InvalidArgument("Shared barrier '", barrier_.name(), "' has component types ",
                                     TypeNames(found.types()), " but requested component types were ",
                                     TypeNames(types_));
    }
    if (found.shapes() != shapes_) {
      return errors::InvalidArgument("Shared barrier '", barrier_.name(), "' has component shapes ",
                                     ShapeNames(found.shapes()), " but requested component shapes were ",
                                     ShapeNames(shapes_));
    }
    return OkStatus();
  }

  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  NamedResource<Barrier> barrier_;
};

class InsertMany final : public AsyncOnceAStep {
 public:
  explicit InsertMany(KernelInit& init) : component_(init.Attr<int64_t>("component_index")) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Barrier>> barrier = HandleInput<Barrier>(ctx, 0);
    if (!barrier.ok()) return done(barrier.status());
    if (Status status = Check(ctx, **barrier); !status.ok()) return done(status);
    (*barrier)->Insert(ctx.input(1), static_cast<int>(component_), ctx.input(2), WaiterOf(ctx), std::move(done));
  }

 private:
  Status Check(const KernelContext& ctx, const Barrier& barrier) const {
    const auto components = static_cast<int64_t>(barrier.types().size());
    if (component_ < 0 || component_ >= components) {
      return errors::InvalidArgument("The component ID is out of range ", component_,
                                     " > num_components (= ", components, ")");
    }
    const Tensor &keys = ctx.input(1), &values = ctx.input(2);
    if (values.dtype() != barrier.types()[component_]) {
      return errors::InvalidArgument("Signature mismatch, have: ", DTypeName(values.dtype()),
                                     " expected: ", DTypeName(barrier.types()[component_]));
    }
    if (keys.rank() != 1 || values.rank() < 1 || keys.dim(0) != values.dim(0)) {
      return errors::InvalidArgument("Keys must be a vector with one row of values for each: ", keys.shape().ToString(),
                                     " vs. ", values.shape().ToString());
    }
    return OkStatus();
  }

  const int64_t component_;
};

class TakeMany final : public AsyncOnceAStep {
 public:
  explicit TakeMany(KernelInit& init)
      : types_(init.Attr<std::vector<DType>>("component_types")), small_batch_(init.Attr<bool>("allow_small_batch")) {
    if (init.Attr<int64_t>("timeout_ms") != -1) init.Fail(errors::InvalidArgument("Timeout not supported yet."));
  }
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Barrier>> found = HandleInput<Barrier>(ctx, 0);
    if (!found.ok()) return done(found.status());
    Ref<Barrier> barrier = *std::move(found);
    if (Status status = Check(ctx, *barrier); !status.ok()) return done(status);
    Barrier& b = *barrier;
    b.Take(ctx.input(1).scalar<int32_t>(), small_batch_, WaiterOf(ctx),
           [&ctx, barrier = std::move(barrier), done = std::move(done)](StatusOr<std::vector<QueueElement>> taken) {
             done(taken.ok() ? Batch(ctx, *barrier, *taken) : taken.status());
           });
  }

 private:
  Status Check(const KernelContext& ctx, const Barrier& barrier) const {
    if (barrier.types() != types_) {
      return errors::InvalidArgument("Signature mismatch, have: ", TypeNames(types_),
                                     " expected: ", TypeNames(barrier.types()));
    }
    const Tensor& n = ctx.input(1);
    if (n.rank() != 0) return errors::InvalidArgument("num_elements must be a scalar.");
    if (n.scalar<int32_t>() < 0) return errors::InvalidArgument("num_elements must not be negative");
    return OkStatus();
  }
  static Status Batch(KernelContext& ctx, const Barrier& barrier, const std::vector<QueueElement>& elements) {
    const Queue::Options& options = barrier.ready().options();
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      PartialShape shape = options.shapes[i];
      // Where the barrier does not say it, tuples that are taken together must agree.
      if (!shape.IsFullyDefined()) shape = elements.empty() ? PartialShape(Shape()) : elements[0][i].shape();
      for (const QueueElement& e : elements) {
        if (shape.ToShape() == e[i].shape()) continue;
        return errors::InvalidArgument("Values of component ", i - 2, " have different shapes: ", shape.ToString(),
                                       " and ", e[i].shape().ToString());
      }
      ASSIGN_OR_RETURN(Tensor batch, MakeBatch(elements, i, options.types[i], shape, false));
      ctx.set_output(i, std::move(batch));
    }
    return OkStatus();
  }

  const std::vector<DType> types_;
  const bool small_batch_;
};

class BarrierClose final : public AsyncOnceAStep {
 public:
  explicit BarrierClose(KernelInit& init) : cancel_(init.Attr<bool>("cancel_pending_enqueues")) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Barrier>> barrier = HandleInput<Barrier>(ctx, 0);
    if (!barrier.ok()) return done(barrier.status());
    (*barrier)->Close(cancel_, WaiterOf(ctx), std::move(done));
  }

 private:
  const bool cancel_;
};

Status ReadySizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Barrier> barrier, HandleInput<Barrier>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(barrier->ready_size())));
  return OkStatus();
}

Status IncompleteSizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Barrier> barrier, HandleInput<Barrier>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(barrier->incomplete_size())));
  return OkStatus();
}

Status InsertShape(ShapeContext& c) {
  PartialShape keys, values;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &keys));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(2), 1, &values));
  int64_t rows = 0;
  return values.rank_known() ? ShapeContext::MergeDim(keys.dim(0), values.dim(0), &rows) : OkStatus();
}

OP("Barrier")
    .Output("handle: Ref(string)")
    .Attr("component_types: list(type) >= 1")
    .Attr("shapes: list(shape) >= 0 = []")
    .Attr("capacity: int = -1")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(StringHandleShape)
    .Cpu<BarrierOp>()
    .Doc("Collects the components of tuples that come separately, under keys.");

OP("BarrierInsertMany")
    .Input("handle: Ref(string)")
    .Input("keys: string")
    .Input("values: T")
    .Attr("T: type")
    .Attr("component_index: int")
    .Shape(InsertShape)
    .Cpu<InsertMany>()
    .Doc("Gives one component to each of some keys.");

OP("BarrierTakeMany")
    .Input("handle: Ref(string)")
    .Input("num_elements: int32")
    .Output("indices: int64")
    .Output("keys: string")
    .Output("values: component_types")
    .Attr("component_types: list(type) >= 1")
    .Attr("allow_small_batch: bool = false")
    .Attr("wait_for_incomplete: bool = false")
    .Attr("timeout_ms: int = -1")
    .Shape(UnknownShape)
    .Cpu<TakeMany>()
    .Doc("Takes a batch of whole tuples, those first inserted first; waits until there are as many.");

OP("BarrierClose")
    .Input("handle: Ref(string)")
    .Attr("cancel_pending_enqueues: bool = false")
    .Shape(NoOutputs)
    .Cpu<BarrierClose>()
    .Doc("Ends a barrier: no new keys come.");

OP("BarrierReadySize")
    .Input("handle: Ref(string)")
    .Output("size: int32")
    .Shape(ScalarShape)
    .Cpu(ReadySizeCpu)
    .Doc("The number of whole tuples.");

OP("BarrierIncompleteSize")
    .Input("handle: Ref(string)")
    .Output("size: int32")
    .Shape(ScalarShape)
    .Cpu(IncompleteSizeCpu)
    .Doc("The number of keys that lack components.");

}  // namespace
}  // namespace millstream
