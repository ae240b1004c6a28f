// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/random/fill.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

template <bool kKeyed>
Status FullIntCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
  ASSIGN_OR_RETURN(const math::Philox philox, kKeyed ? GeneratorFromKey(ctx) : GeneratorFromSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  FillFullInts(philox, out);
  return OkStatus();
}

OP("StatelessRandomUniformFullInt")
    .Input("shape: T")
    .Input("seed: Tseed")
    .Output("output: dtype")
    .Attr("dtype: {int32, int64, uint32, uint64} = DT_UINT64")
    .Attr("T: {int32, int64} = DT_INT32")
    .Attr("Tseed: {int32, int64, uint32, uint64} = DT_INT64")
    .Shape(SeededShape)
    .NotDifferentiable()
    .Cpu(FullIntCpu<false>)
    .HostMemory("shape")
    .HostMemory("seed")
    .Doc("Random integers of the whole range of their type that depend on nothing but `seed`.");

OP("StatelessRandomUniformFullIntV2")
    .Input("shape: Tshape")
    .Input("key: uint64")
    .Input("counter: uint64")
    .Input("alg: int32")
    .Output("output: dtype")
    .Attr("dtype: {int32, int64, uint32, uint64} = DT_UINT64")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .Shape(KeyedShape)
    .NotDifferentiable()
    .Cpu(FullIntCpu<true>)
    .HostMemory("shape")
    .HostMemory("alg")
    .Doc("Random integers of the whole range of their type that depend on nothing but key and counter.");

}  // namespace
}  // namespace millstream
