// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/math/random.h"
#include "millstream/ops/nn/as_float.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

using math::Philox;

uint64_t Joined(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

struct Uniform {
  static constexpr bool kFromFloat = false;
  template <typename T>
  static void Fill(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
    math::FillUniform(philox, out, n, pool);
  }
};
// 16-bit outputs are those of float, rounded.
struct Normal {
  static constexpr bool kFromFloat = true;
  template <typename T>
  static void Fill(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
    math::FillNormal(philox, out, n, pool);
  }
};
struct TruncatedNormal {
  static constexpr bool kFromFloat = true;
  template <typename T>
  static void Fill(const Philox& philox, T* out, int64_t n, ThreadPool* pool) {
    math::FillTruncatedNormal(philox, out, n, pool);
  }
};

template <typename Distribution>
Status FillTensor(KernelContext& ctx, const Philox& philox, Tensor* out) {
  const int64_t n = out->num_elements();
  if constexpr (!Distribution::kFromFloat) {
    if (out->dtype() == DType::kHalf) return Distribution::Fill(philox, out->data<Half>(), n, ctx.pool()), OkStatus();
    if (out->dtype() == DType::kBfloat16) {
      return Distribution::Fill(philox, out->data<BFloat16>(), n, ctx.pool()), OkStatus();
    }
  }
  ASSIGN_OR_RETURN(Tensor wide, FloatFor(ctx, out));
  if (wide.dtype() == DType::kFloat)
    Distribution::Fill(philox, wide.data<float>(), n, ctx.pool());
  else
    Distribution::Fill(philox, wide.data<double>(), n, ctx.pool());
  StoreFloat(ctx, wide, out);
  return OkStatus();
}

template <typename Distribution, bool keyed>
Status Stateless(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
  ASSIGN_OR_RETURN(const Philox philox, keyed ? GeneratorFromKey(ctx) : GeneratorFromSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  return FillTensor<Distribution>(ctx, philox, out);
}

template <bool keyed>
struct StatelessInt {
  template <typename Int>
  class Op final : public Kernel {
   public:
    explicit Op(KernelInit&) {}
    Status Compute(KernelContext& ctx) override {
      const Tensor &low = ctx.input(keyed ? 4 : 2), &high = ctx.input(keyed ? 5 : 3);
      ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(ctx.input(0)));
      ASSIGN_OR_RETURN(const Philox philox, keyed ? GeneratorFromKey(ctx) : GeneratorFromSeed(ctx.input(1)));
      if (low.rank() != 0 || high.rank() != 0) {
        return errors::InvalidArgument("minval and maxval must be 0-D, got shapes ", low.shape().ToString(), " and ",
                                       high.shape().ToString());
      }
      const Int minval = low.scalar<Int>(), maxval = high.scalar<Int>();
      if (minval >= maxval) return errors::InvalidArgument("Need minval < maxval, got ", minval, " >= ", maxval);
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
      math::FillUniformInt(philox, minval, maxval, out->data<Int>(), shape.num_elements(), ctx.pool());
      return OkStatus();
    }
  };
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

const OpBuilder kUniform = Seeded("StatelessRandomUniform", Stateless<Uniform, false>);
const OpBuilder kNormal = Seeded("StatelessRandomNormal", Stateless<Normal, false>);
const OpBuilder kTruncated = Seeded("StatelessTruncatedNormal", Stateless<TruncatedNormal, false>);
const OpBuilder kUniformV2 = Keyed("StatelessRandomUniformV2", Stateless<Uniform, true>);
const OpBuilder kNormalV2 = Keyed("StatelessRandomNormalV2", Stateless<Normal, true>);
const OpBuilder kTruncatedV2 = Keyed("StatelessTruncatedNormalV2", Stateless<TruncatedNormal, true>);

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
    .Cpu<StatelessInt<false>::Op>(IndexTypes{}, "dtype")
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
    .Cpu<StatelessInt<true>::Op>(IndexTypes{}, "dtype")
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
