// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/random/random.h"

#include "millstream/framework/op.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {
namespace {

StatusOr<Shape> ReadShape(const Tensor& t) {
  Dims dims;
  RETURN_IF_ERROR(ReadIntVector(t, "shape", &dims));
  return MakeShape(dims);
}

// A kernel with a stream of random numbers of its own, which goes on from run to run.
class RandomKernel : public Kernel {
 public:
  explicit RandomKernel(KernelInit& init) : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}

 protected:
  math::Philox Reserve(int64_t outputs) { return stream_.Reserve(math::ReservedBlocks(outputs)); }

 private:
  math::PhiloxStream stream_;
};

template <typename T>
void Uniform(const math::Philox& philox, Tensor* out, ThreadPool* pool) {
  math::FillUniform(philox, out->data<T>(), out->num_elements(), pool);
}

class RandomUniform final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const math::Philox philox = Reserve(shape.num_elements());
    switch (out->dtype()) {
      case DType::kHalf:
        Uniform<Half>(philox, out, ctx.pool());
        break;
      case DType::kBfloat16:
        Uniform<BFloat16>(philox, out, ctx.pool());
        break;
      case DType::kFloat:
        Uniform<float>(philox, out, ctx.pool());
        break;
      default:
        Uniform<double>(philox, out, ctx.pool());
    }
    return OkStatus();
  }
};

// 16-bit outputs are those of float, rounded.
template <bool truncated>
class RandomNormal final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const math::Philox philox = Reserve(shape.num_elements());
    ASSIGN_OR_RETURN(Tensor wide, FloatFor(ctx, out));
    if (wide.dtype() == DType::kFloat)
      Fill<float>(philox, &wide, ctx.pool());
    else
      Fill<double>(philox, &wide, ctx.pool());
    StoreFloat(ctx, wide, out);
    return OkStatus();
  }

 private:
  template <typename T>
  static void Fill(const math::Philox& philox, Tensor* out, ThreadPool* pool) {
    if constexpr (truncated)
      math::FillTruncatedNormal(philox, out->data<T>(), out->num_elements(), pool);
    else
      math::FillNormal(philox, out->data<T>(), out->num_elements(), pool);
  }
};

template <typename Int>
class RandomUniformInt final : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor &low = ctx.input(1), &high = ctx.input(2);
    if (low.rank() != 0) {
      return errors::InvalidArgument("minval must be 0-D, got shape ", low.shape().ToString());
    }
    if (high.rank() != 0) {
      return errors::InvalidArgument("maxval must be 0-D, got shape ", high.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const Int minval = low.scalar<Int>(), maxval = high.scalar<Int>();
    if (minval >= maxval) {
      return errors::InvalidArgument("Need minval < maxval, got ", minval, " >= ", maxval);
    }
    math::FillUniformInt(Reserve(shape.num_elements()), minval, maxval, out->data<Int>(), shape.num_elements(),
                         ctx.pool());
    return OkStatus();
  }
};

Status RandomShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status RandomUniformIntShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &scalar));
  return RandomShape(c);
}

#define RANDOM_FLOATS(Name, Kernel, doc)              \
  OP(Name)                                            \
      .Input("shape: T")                              \
      .Output("output: dtype")                        \
      .Attr("seed: int = 0")                          \
      .Attr("seed2: int = 0")                         \
      .Attr("dtype: {half, bfloat16, float, double}") \
      .Attr("T: {int32, int64}")                      \
      .Stateful()                                     \
      .Shape(RandomShape)                             \
      .NotDifferentiable()                            \
      .CpuFor<Kernel>(FloatTypes{}, "dtype")          \
      .HostMemory("shape")                            \
      .Doc(doc)

RANDOM_FLOATS("RandomUniform", RandomUniform,
              "Random numbers, uniform in [0, 1). With both seeds 0 they differ from session to session.");
RANDOM_FLOATS("RandomStandardNormal", RandomNormal<false>, "Random numbers, normal with mean 0 and deviation 1.");
RANDOM_FLOATS("TruncatedNormal", RandomNormal<true>,
              "Random numbers, normal with mean 0 and deviation 1; values beyond two deviations are drawn again.");
#undef RANDOM_FLOATS

OP("RandomUniformInt")
    .Input("shape: T")
    .Input("minval: Tout")
    .Input("maxval: Tout")
    .Output("output: Tout")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("Tout: {int32, int64}")
    .Attr("T: {int32, int64}")
    .Stateful()
    .Shape(RandomUniformIntShape)
    .Cpu<RandomUniformInt>(IndexTypes{}, "Tout")
    .HostMemory("shape")
    .HostMemory("minval")
    .HostMemory("maxval")
    .Doc("Random integers in [minval, maxval).");

}  // namespace
}  // namespace millstream
