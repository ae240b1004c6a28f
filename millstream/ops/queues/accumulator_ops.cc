// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/queues/accumulator.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

class AccumulatorOp final : public Kernel {
 public:
  explicit AccumulatorOp(KernelInit& init) : accumulator_(init, "N10tensorflow26ConditionalAccumulatorBaseE") {
    options_.name = accumulator_.name();
    if (init.device() != nullptr) options_.device = init.device()->name();
    options_.census = Census::Of(init.resources());
    options_.dtype = init.Attr<DType>("dtype");
    options_.shape = init.Attr<PartialShape>("shape");
    options_.mean = init.Attr<std::string>("reduction_type") == "MEAN";
    options_.sparse = absl::StrContains(init.op().name, "Sparse");
  }

  Status Compute(KernelContext& ctx) override {
    return accumulator_.Output(
        ctx, [this] { return MakeRef<Accumulator>(options_); },
        [this](const Accumulator& found) { return CheckShared(found.options()); });
  }

 private:
  Status CheckShared(const Accumulator::Options& o) const {
    if (o.dtype != options_.dtype || o.sparse != options_.sparse || o.mean != options_.mean ||
        !(o.shape == options_.shape)) {
      return errors::InvalidArgument("Shared conditional accumulator '", options_.name, "' is ",
                                     o.sparse ? "sparse, " : "dense, ", DTypeName(o.dtype), o.shape.ToString(),
                                     o.mean ? ", MEAN" : ", SUM", "; requested was ",
                                     options_.sparse ? "sparse, " : "dense, ", DTypeName(options_.dtype),
                                     options_.shape.ToString(), options_.mean ? ", MEAN" : ", SUM");
    }
    return OkStatus();
  }

  Accumulator::Options options_;
  NamedResource<Accumulator> accumulator_;
};

Status CheckScalar(const Tensor& t, const char* what) {
  if (t.rank() == 0) return OkStatus();
  return errors::InvalidArgument("Argument ", what, " must be scalar, but had bad shape ", t.shape().ToString());
}

class Apply final : public Kernel, public OnceAStep {
 public:
  explicit Apply(KernelInit& /*init*/) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Accumulator> accumulator, HandleInput<Accumulator>(ctx, 0));
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "local_step"));
    const int64_t local_step = ctx.input(1).scalar<int64_t>();
    AccumulatedGradient gradient;
    gradient.values = ctx.TakeInput(2);
    return accumulator->Apply(local_step, std::move(gradient), ctx.pool());
  }
};

class SparseApply final : public Kernel, public OnceAStep {
 public:
  explicit SparseApply(KernelInit& init) : has_known_shape_(init.Attr<bool>("has_known_shape")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Accumulator> accumulator, HandleInput<Accumulator>(ctx, 0));
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "local_step"));
    AccumulatedGradient gradient;
    gradient.indices = ctx.input(2);
    gradient.values = ctx.input(3);
    if (has_known_shape_) {
      if (ctx.input(4).rank() != 1) {
        return errors::InvalidArgument("Input shape should be a vector but received shape: ",
                                       ctx.input(4).shape().ToString());
      }
      gradient.dense_shape = ctx.input(4);
    }
    return accumulator->Apply(ctx.input(1).scalar<int64_t>(), std::move(gradient), ctx.pool());
  }

 private:
  const bool has_known_shape_;
};

// Its progress: the global step of the accumulator after the take.
template <bool kSparse>
class Take final : public AsyncOnceAStep {
 public:
  explicit Take(KernelInit& init) : dtype_(init.Attr<DType>("dtype")) {}

  void ComputeFrom(KernelContext& ctx, int64_t* progress, Done done) override {
    StatusOr<Ref<Accumulator>> accumulator = HandleInput<Accumulator>(ctx, 0);
    if (!accumulator.ok()) return done(accumulator.status());
    const Accumulator::Options& options = (*accumulator)->options();
    if (options.sparse != kSparse || options.dtype != dtype_) {
      return done(errors::InvalidArgument("Signature mismatch: the accumulator is ",
                                          options.sparse ? "sparse, " : "dense, ", DTypeName(options.dtype)));
    }
    if (Status status = CheckScalar(ctx.input(1), "num_required"); !status.ok()) return done(status);
    (*accumulator)
        ->Take(ctx.input(1).scalar<int32_t>(), ctx.cancellation(), ctx.step().pool,
               [&ctx, progress, done = std::move(done)](StatusOr<AccumulatedGradient> taken) {
                 if (!taken.ok()) return done(taken.status());
                 if (progress != nullptr) *progress = taken->global_step;
                 if (kSparse) ctx.set_output(0, std::move(taken->indices));
                 ctx.set_output(kSparse ? 1 : 0, std::move(taken->values));
                 if (kSparse) ctx.set_output(2, std::move(taken->dense_shape));
                 done(OkStatus());
               });
  }

  // The session that repeats the step may have set it to where the step began.
  void GivenAgain(KernelContext& ctx, int64_t progress) override {
    StatusOr<Ref<Accumulator>> accumulator = HandleInput<Accumulator>(ctx, 0);
    if (accumulator.ok()) (*accumulator)->WasTaken(progress);
  }

 private:
  const DType dtype_;
};

Status NumAccumulatedCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Accumulator> accumulator, HandleInput<Accumulator>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(accumulator->NumAccumulated())));
  return OkStatus();
}

Status SetGlobalStepCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Accumulator> accumulator, HandleInput<Accumulator>(ctx, 0));
  RETURN_IF_ERROR(CheckScalar(ctx.input(1), "new_global_step"));
  accumulator->SetGlobalStep(ctx.input(1).scalar<int64_t>());
  return OkStatus();
}

Status SparseTakeShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1}));
  c.set_output(2, PartialShape({-1}));
  return OkStatus();
}

void AccumulatorAttrs(OpBuilder& op) {
  op.Attr("dtype: numbertype")
      .Attr("shape: shape")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
      .Stateful();
}

OP("ConditionalAccumulator")
    .Output("handle: Ref(string)")
    .With(AccumulatorAttrs)
    .Shape(StringHandleShape)
    .CpuFor<AccumulatorOp>(FloatTypes{}, "dtype")
    .Doc("Collects gradients until there are enough of them.");

OP("ResourceConditionalAccumulator")
    .Output("handle: resource")
    .With(AccumulatorAttrs)
    .Shape(ScalarShape)
    .CpuFor<AccumulatorOp>(FloatTypes{}, "dtype")
    .Doc("ConditionalAccumulator with a resource handle.");

OP("SparseConditionalAccumulator")
    .Output("handle: Ref(string)")
    .With(AccumulatorAttrs)
    .Shape(StringHandleShape)
    .CpuFor<AccumulatorOp>(FloatTypes{}, "dtype")
    .Doc("Collects sparse gradients until there are enough of them.");

OP("AccumulatorApplyGradient")
    .Input("handle: Ref(string)")
    .Input("local_step: int64")
    .Input("gradient: dtype")
    .Attr("dtype: numbertype")
    .Shape(NoOutputs)
    .Cpu<Apply>()
    .Doc("Adds a gradient, unless it is older than the global step.");

OP("ResourceAccumulatorApplyGradient")
    .Input("handle: resource")
    .Input("local_step: int64")
    .Input("gradient: dtype")
    .Attr("dtype: numbertype")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<Apply>()
    .Doc("AccumulatorApplyGradient with a resource handle.");

OP("SparseAccumulatorApplyGradient")
    .Input("handle: Ref(string)")
    .Input("local_step: int64")
    .Input("gradient_indices: int64")
    .Input("gradient_values: dtype")
    .Input("gradient_shape: int64")
    .Attr("dtype: numbertype")
    .Attr("has_known_shape: bool")
    .Shape(NoOutputs)
    .Cpu<SparseApply>()
    .Doc("Adds rows of a gradient, unless they are older than the global step.");

OP("AccumulatorTakeGradient")
    .Input("handle: Ref(string)")
    .Input("num_required: int32")
    .Output("average: dtype")
    .Attr("dtype: numbertype")
    .Shape(UnknownShape)
    .Cpu<Take<false>>()
    .Doc(
        "The mean (or sum) of the gradients, once there are enough; then the "
        "accumulator starts anew.");

OP("ResourceAccumulatorTakeGradient")
    .Input("handle: resource")
    .Input("num_required: int32")
    .Output("average: dtype")
    .Attr("dtype: numbertype")
    .Stateful()
    .Shape(UnknownShape)
    .Cpu<Take<false>>()
    .Doc("AccumulatorTakeGradient with a resource handle.");

OP("SparseAccumulatorTakeGradient")
    .Input("handle: Ref(string)")
    .Input("num_required: int32")
    .Output("indices: int64")
    .Output("values: dtype")
    .Output("shape: int64")
    .Attr("dtype: numbertype")
    .Shape(SparseTakeShape)
    .Cpu<Take<true>>()
    .Doc(
        "The mean (or sum) of each row over the gradients that have it, once "
        "there are enough.");

OP("AccumulatorNumAccumulated")
    .Input("handle: Ref(string)")
    .Output("num_accumulated: int32")
    .Shape(ScalarShape)
    .Cpu(NumAccumulatedCpu)
    .Doc("How many gradients were added since the last take.");

OP("ResourceAccumulatorNumAccumulated")
    .Input("handle: resource")
    .Output("num_accumulated: int32")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(NumAccumulatedCpu)
    .Doc("AccumulatorNumAccumulated with a resource handle.");

OP("AccumulatorSetGlobalStep")
    .Input("handle: Ref(string)")
    .Input("new_global_step: int64")
    .Shape(NoOutputs)
    .Cpu(SetGlobalStepCpu)
    .Doc("Gradients of older steps are dropped from now on.");

OP("ResourceAccumulatorSetGlobalStep")
    .Input("handle: resource")
    .Input("new_global_step: int64")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu(SetGlobalStepCpu)
    .Doc("AccumulatorSetGlobalStep with a resource handle.");

}  // namespace
}  // namespace millstream
