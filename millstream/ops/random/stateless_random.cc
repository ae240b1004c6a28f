// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/random/fill.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

using math::Philox;

uint64_t Joined(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

template <Distribution distribution, bool keyed>
Status Stateless(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
  ASSIGN_OR_RETURN(const Philox philox, keyed ? GeneratorFromKey(ctx) : GeneratorFromSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  return FillFloats(ctx, distribution, philox, out);
}

template <bool keyed>
class StatelessInt final : public Kernel {
 public:
  explicit StatelessInt(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor &low = ctx.input(keyed ? 4 : 2), &high = ctx.input(keyed ? 5 : 3);
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
    ASSIGN_OR_RETURN(const Philox philox, keyed ? GeneratorFromKey(ctx) : GeneratorFromSeed(ctx.input(1)));
    RETURN_IF_ERROR(CheckIntRange(low, high));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return FillInts(ctx, philox, low, high, out);
  }
};

Status GetKeyCounter(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Philox philox, GeneratorFromSeed(ctx.input(0)));
  ASSIGN_OR_RETURN(Tensor * key, ctx.AllocateOutput(0, Shape({1})));
  ASSIGN_OR_RETURN(Tensor * counter, ctx.AllocateOutput(1, Shape({2})));
  key->data<uint64_t>()[0] = Joined(philox.key()[0], philox.key()[1]);
  counter->data<uint64_t>()[0] = Joined(philox.counter()[0], philox.counter()[1]);
  counter->data<uint64_t>()[1] = Joined(philox.counter()[2], philox.counter()[3]);
  if (ctx.num_outputs() < 3) return OkStatus();
  ASSIGN_OR_RETURN(Tensor * alg, ctx.AllocateOutput(2, Shape()));
  alg->data<int32_t>()[0] = kPhiloxAlg;
  return OkStatus();
}

Status GetAlg(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor * alg, ctx.AllocateOutput(0, Shape()));
  alg->data<int32_t>()[0] = kPhiloxAlg;
  return OkStatus();
}

Status KeyCounterShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSeedShape(c.input(0)));
  c.set_output(0, Shape({1}));
  c.set_output(1, Shape({2}));
  if (c.num_outputs() > 2) c.set_output(2, Shape());
  return OkStatus();
}

OpBuilder Seeded(const char* name, Status (*kernel)(KernelContext&)) {
  OpBuilder op(name);
  op.Input("shape: T").Input("seed: Tseed").Output("output: dtype");
  op.Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT");
  op.Attr("T: {int32, int64} = DT_INT32").Attr("Tseed: {int32, int64} = DT_INT64");
  op.Shape(SeededShape).NotDifferentiable().Cpu(kernel).HostMemory("shape").HostMemory("seed");
  return op.Doc("Random numbers that depend on nothing but `seed`.");
}

OpBuilder Keyed(const char* name, Status (*kernel)(KernelContext&)) {
  OpBuilder op(name);
  op.Input("shape: Tshape").Input("key: uint64").Input("counter: uint64").Input("alg: int32");
  op.Output("output: dtype").Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT");
  op.Attr("Tshape: {int32, int64} = DT_INT32");
  op.Shape(KeyedShape).NotDifferentiable().Cpu(kernel).HostMemory("shape").HostMemory("alg");
  return op.Doc("Random numbers that depend on nothing but key and counter of the generator.");
}

const OpBuilder kUniform = Seeded("StatelessRandomUniform", Stateless<Distribution::kUniform, false>);
const OpBuilder kNormal = Seeded("StatelessRandomNormal", Stateless<Distribution::kNormal, false>);
const OpBuilder kTruncated = Seeded("StatelessTruncatedNormal", Stateless<Distribution::kTruncatedNormal, false>);
const OpBuilder kUniformV2 = Keyed("StatelessRandomUniformV2", Stateless<Distribution::kUniform, true>);
const OpBuilder kNormalV2 = Keyed("StatelessRandomNormalV2", Stateless<Distribution::kNormal, true>);
const OpBuilder kTruncatedV2 = Keyed("StatelessTruncatedNormalV2", Stateless<Distribution::kTruncatedNormal, true>);

OP("StatelessRandomUniformInt")
    .Input("shape: T")
    .Input("seed: Tseed")
    .Input("minval: dtype")
    .Input("maxval: dtype")
    .Output("output: dtype")
    .Attr("dtype: {int32, int64}")
    .Attr("T: {int32, int64}")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Shape(SeededShape)
    .NotDifferentiable()
    .CpuFor<StatelessInt<false>>(IndexTypes{}, "dtype")
    .HostMemory("shape")
    .HostMemory("seed")
    .HostMemory("minval")
    .HostMemory("maxval")
    .Doc("Random integers in [minval, maxval) that depend on nothing but `seed`.");

OP("StatelessRandomUniformIntV2")
    .Input("shape: Tshape")
    .Input("key: uint64")
    .Input("counter: uint64")
    .Input("alg: int32")
    .Input("minval: dtype")
    .Input("maxval: dtype")
    .Output("output: dtype")
    .Attr("dtype: {int32, int64, uint32, uint64}")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .Shape(KeyedShape)
    .NotDifferentiable()
    .CpuFor<StatelessInt<true>>(IndexTypes{}, "dtype")
    .HostMemory("shape")
    .HostMemory("alg")
    .HostMemory("minval")
    .HostMemory("maxval")
    .Doc("Random integers in [minval, maxval) that depend on nothing but key and counter of the generator.");

OP("StatelessRandomGetKeyCounter")
    .Input("seed: Tseed")
    .Output("key: uint64")
    .Output("counter: uint64")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Shape(KeyCounterShape)
    .NotDifferentiable()
    .Cpu(GetKeyCounter)
    .HostMemory("seed")
    .HostMemory("key")
    .HostMemory("counter")
    .Doc("Key and counter of the generator for a pair of seeds.");

OP("StatelessRandomGetKeyCounterAlg")
    .Input("seed: Tseed")
    .Output("key: uint64")
    .Output("counter: uint64")
    .Output("alg: int32")
    .Attr("Tseed: {int32, int64} = DT_INT64")
    .Shape(KeyCounterShape)
    .NotDifferentiable()
    .Cpu(GetKeyCounter)
    .HostMemory("seed")
    .HostMemory("key")
    .HostMemory("counter")
    .HostMemory("alg")
    .Doc("Key, counter and algorithm of the generator for a pair of seeds.");

OP("StatelessRandomGetAlg")
    .Output("alg: int32")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(GetAlg)
    .HostMemory("alg")
    .Doc("The number of the generator that stateless random ops use here: Philox.");

}  // namespace
}  // namespace millstream
