// SPDX-License-Identifier: Apache-2.0
// Ops whose generator is a variable: counter (two numbers) and key, behind a handle.
#include <cstring>
#include <random>

#include "millstream/framework/op.h"
#include "millstream/ops/random/fill.h"
#include "millstream/ops/random/generator.h"
#include "millstream/ops/random/state_variable.h"

namespace millstream {
namespace {

// Inputs: the handle, (the algorithm, unless the state begins with it,) the shape.
template <typename FillFn>
Status FillFromState(KernelContext& ctx, bool tagged, FillFn fill) {
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(tagged ? 1 : 2)));
  if (!tagged) RETURN_IF_ERROR(CheckAlgorithm(ctx.input(1), "input 1 (0-based)"));
  ASSIGN_OR_RETURN(const math::Philox philox,
                   SkipInState(ctx, math::ReservedBlocks(shape.num_elements()), tagged ? 1 : 0, nullptr));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  return fill(philox, out);
}

template <Distribution distribution, bool tagged>
class StatefulFloats final : public Kernel {
 public:
  explicit StatefulFloats(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    return FillFromState(ctx, tagged, [&](const math::Philox& philox, Tensor* out) {
      return FillFloats(ctx, distribution, philox, out);
    });
  }
};

class StatefulInts final : public Kernel {
 public:
  explicit StatefulInts(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckIntRange(ctx.input(3), ctx.input(4)));
    return FillFromState(ctx, false, [&](const math::Philox& philox, Tensor* out) {
      return FillInts(ctx, philox, ctx.input(3), ctx.input(4), out);
    });
  }
};

class StatefulFullInts final : public Kernel {
 public:
  explicit StatefulFullInts(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    return FillFromState(ctx, false, [](const math::Philox& philox, Tensor* out) {
      FillFullInts(philox, out);
      return OkStatus();
    });
  }
};

// Moves the counter on, and hands out the state from before if there is an output.
Status RngSkipCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckAlgorithm(ctx.input(1), "input 1 (0-based)"));
  const Tensor& delta = ctx.input(2);
  if (delta.rank() != 0) {
    return errors::InvalidArgument("input 2 (0-based) must have shape [], not ", delta.shape().ToString());
  }
  const uint64_t outputs =
      delta.dtype() == DType::kInt64 ? static_cast<uint64_t>(delta.scalar<int64_t>()) : delta.scalar<uint64_t>();
  Tensor before;
  RETURN_IF_ERROR(SkipInState(ctx, outputs * 256, 0, &before).status());
  if (ctx.num_outputs() == 0) return OkStatus();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({3})));
  std::copy_n(before.data<int64_t>(), 3, out->data<int64_t>());
  return OkStatus();
}

class NonDeterministicInts final : public Kernel {
 public:
  explicit NonDeterministicInts(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::random_device entropy;
    const auto words = static_cast<int64_t>(out->ByteSize() / sizeof(uint32_t));
    for (int64_t i = 0; i < words; ++i) static_cast<uint32_t*>(out->raw())[i] = entropy();
    return OkStatus();
  }
};

Status StatefulShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(2));
  c.set_output(0, std::move(shape));
  return OkStatus();
}
Status StatefulIntShape(ShapeContext& c) {
  PartialShape unused;
  if (!ShapeContext::WithRank(c.input(3), 0, &unused).ok()) {
    return errors::InvalidArgument("minval must be a scalar; got a tensor of shape ", c.input(3).ToString());
  }
  if (!ShapeContext::WithRank(c.input(4), 0, &unused).ok()) {
    return errors::InvalidArgument("maxval must be a scalar; got a tensor of shape ", c.input(4).ToString());
  }
  return StatefulShape(c);
}
template <int input>
Status ShapeFromInput(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(input));
  c.set_output(0, std::move(shape));
  return OkStatus();
}
Status SkipShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &unused));
  if (c.num_outputs() > 0) c.set_output(0, Shape({3}));
  return OkStatus();
}

using FullIntTypes = Types<int32_t, int64_t, uint32_t, uint64_t>;

template <typename K, typename TypeList>
OpBuilder FromState(const char* name, const char* dtype, TypeList types) {
  OpBuilder op(name);
  op.Input("resource: resource").Input("algorithm: int64").Input("shape: shape_dtype").Output("output: dtype");
  op.Attr(dtype).Attr("shape_dtype: type = DT_INT64").Stateful().Shape(StatefulShape).NotDifferentiable();
  op.CpuFor<K>(types, "dtype").HostMemory("resource").HostMemory("algorithm").HostMemory("shape");
  return op.Doc("Random numbers of the generator whose state is in a variable; they move it on.");
}

const OpBuilder kUniform =
    FromState<StatefulFloats<Distribution::kUniform, false>>("StatefulUniform", "dtype: type = DT_FLOAT", FloatTypes{});
const OpBuilder kNormal = FromState<StatefulFloats<Distribution::kNormal, false>>(
    "StatefulStandardNormalV2", "dtype: type = DT_FLOAT", FloatTypes{});
const OpBuilder kTruncated = FromState<StatefulFloats<Distribution::kTruncatedNormal, false>>(
    "StatefulTruncatedNormal", "dtype: type = DT_FLOAT", FloatTypes{});
const OpBuilder kFullInt =
    FromState<StatefulFullInts>("StatefulUniformFullInt", "dtype: type = DT_UINT64", FullIntTypes{});

OP("StatefulUniformInt")
    .Input("resource: resource")
    .Input("algorithm: int64")
    .Input("shape: shape_dtype")
    .Input("minval: dtype")
    .Input("maxval: dtype")
    .Output("output: dtype")
    .Attr("dtype: type = DT_INT64")
    .Attr("shape_dtype: type = DT_INT64")
    .Stateful()
    .Shape(StatefulIntShape)
    .NotDifferentiable()
    .CpuFor<StatefulInts>(IndexTypes{}, "dtype")
    .HostMemory("resource")
    .HostMemory("algorithm")
    .HostMemory("shape")
    .HostMemory("minval")
    .HostMemory("maxval")
    .Doc("Random integers in [minval, maxval) of the generator whose state is in a variable.");

OP("StatefulStandardNormal")
    .Input("resource: resource")
    .Input("shape: shape_dtype")
    .Output("output: dtype")
    .Attr("dtype: type = DT_FLOAT")
    .Attr("shape_dtype: type = DT_INT64")
    .Stateful()
    .Shape(ShapeFromInput<1>)
    .NotDifferentiable()
    .CpuFor<StatefulFloats<Distribution::kNormal, true>>(FloatTypes{}, "dtype")
    .HostMemory("resource")
    .HostMemory("shape")
    .Doc("Normal numbers of the generator whose algorithm and state are in a variable.");

OP("RngSkip")
    .Input("resource: resource")
    .Input("algorithm: int64")
    .Input("delta: int64")
    .Stateful()
    .Shape(SkipShape)
    .NotDifferentiable()
    .Cpu(RngSkipCpu)
    .HostMemory("resource")
    .HostMemory("algorithm")
    .HostMemory("delta")
    .Doc("Moves a generator on as if `delta` numbers had been drawn.");

OP("RngReadAndSkip")
    .Input("resource: resource")
    .Input("alg: int32")
    .Input("delta: uint64")
    .Output("value: int64")
    .Stateful()
    .Shape(SkipShape)
    .NotDifferentiable()
    .Cpu(RngSkipCpu)
    .HostMemory("resource")
    .HostMemory("alg")
    .HostMemory("delta")
    .Doc("The state of a generator, which then moves on as if `delta` numbers had been drawn.");

OP("NonDeterministicInts")
    .Input("shape: shape_dtype")
    .Output("output: dtype")
    .Attr("dtype: type = DT_INT64")
    .Attr("shape_dtype: type = DT_INT64")
    .Stateful()
    .Shape(ShapeFromInput<0>)
    .NotDifferentiable()
    .CpuFor<NonDeterministicInts>(FullIntTypes{}, "dtype")
    .HostMemory("shape")
    .Doc("Integers of the system's source of entropy.");

}  // namespace
}  // namespace millstream
