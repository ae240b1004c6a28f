// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/mutex.h"
#include "millstream/devices/cuda/kernels/random/fill_random.h"
#include "millstream/math/random/philox.h"
#include "millstream/ops/random/generator.h"

namespace millstream::cuda {
namespace {

PhiloxState ToState(const math::Philox& philox) {
  const auto& c = philox.counter();
  return {uint64_t{c[1]} << 32 | c[0], uint64_t{c[3]} << 32 | c[2], {philox.key()[0], philox.key()[1]}};
}

// A kernel with a stream of random numbers of its own. Its state is in device memory, so that a recorded step draws new
// numbers whenever it is launched.
class RandomKernel : public CudaKernel {
 protected:
  explicit RandomKernel(KernelInit& init) {
    init.Check(
        Start(static_cast<CudaDevice*>(init.device())->gpu(), init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")));
  }

  // Issues fill(generator), and moves the generator on. Steps that run at the same time take turns.
  template <typename Fill>
  Status Draw(Call& call, int64_t outputs, const Fill& fill) {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(fill(GeneratorSource{State(), {}}));
    return AdvanceGenerator(call, State(), outputs);
  }

 private:
  PhiloxState* State() const { return static_cast<PhiloxState*>(const_cast<void*>(state_.raw())); }

  Status Start(Gpu& gpu, int64_t seed, int64_t seed2) {
    ASSIGN_OR_RETURN(state_, gpu.AllocateOutside(DType::kUint8, Shape({sizeof(PhiloxState)}), "random numbers"));
    gpu.Activate();
    return StartGenerator(gpu.compute_stream(), ToState(math::PhiloxStream(seed, seed2).Reserve(0)), State());
  }

  Mutex mu_;  // held while work that uses the state is issued
  Tensor state_;
};

template <Distribution distribution>
class RandomFloats final : public RandomKernel {
 public:
  explicit RandomFloats(KernelInit& init) : RandomKernel(init) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(call.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    return Draw(call, shape.num_elements(),
                [&](const GeneratorSource& generator) { return FillRandomFloats(call, distribution, generator, out); });
  }
};

class RandomUniformInt final : public RandomKernel {
 public:
  explicit RandomUniformInt(KernelInit& init) : RandomKernel(init) {}

  Status Issue(Call& call) override {
    const Tensor &low = call.input(1), &high = call.input(2);
    if (low.rank() != 0) return errors::InvalidArgument("minval must be 0-D, got shape ", low.shape().ToString());
    if (high.rank() != 0) return errors::InvalidArgument("maxval must be 0-D, got shape ", high.shape().ToString());
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(call.input(0)));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    RETURN_IF_ERROR(CheckIntRange(low, high));
    return Draw(call, shape.num_elements(),
                [&](const GeneratorSource& generator) { return FillRandomInts(call, generator, low, high, out); });
  }
};

template <Distribution distribution>
class StatelessFloats final : public CudaKernel {
 public:
  explicit StatelessFloats(KernelInit& init) : keyed_(init.input_types().size() == 4) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(call.input(0)));
    ASSIGN_OR_RETURN(const math::Philox philox,
                     keyed_ ? GeneratorFromKey(call.ctx()) : GeneratorFromSeed(call.input(1)));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    return FillRandomFloats(call, distribution, {nullptr, ToState(philox)}, out);
  }

 private:
  const bool keyed_;
};

class StatelessInts final : public CudaKernel {
 public:
  explicit StatelessInts(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(call.input(0)));
    ASSIGN_OR_RETURN(const math::Philox philox, GeneratorFromSeed(call.input(1)));
    RETURN_IF_ERROR(CheckIntRange(call.input(2), call.input(3)));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    return FillRandomInts(call, {nullptr, ToState(philox)}, call.input(2), call.input(3), out);
  }
};

#define CUDA_RANDOM(op, Class_) CUDA_KERNEL(op).HostMemory("shape").ClassFor<Class_>(FloatTypes{}, "dtype")
#define CUDA_STATELESS(op, Class_) \
  CUDA_KERNEL(op).HostMemory("shape").HostMemory("seed").ClassFor<Class_>(FloatTypes{}, "dtype")

CUDA_RANDOM("RandomUniform", RandomFloats<Distribution::kUniform>);
CUDA_RANDOM("RandomStandardNormal", RandomFloats<Distribution::kNormal>);
CUDA_RANDOM("TruncatedNormal", RandomFloats<Distribution::kTruncatedNormal>);
CUDA_KERNEL("RandomUniformInt")
    .HostMemory("shape")
    .HostMemory("minval")
    .HostMemory("maxval")
    .ClassFor<RandomUniformInt>(IndexTypes{}, "Tout");
CUDA_STATELESS("StatelessRandomUniform", StatelessFloats<Distribution::kUniform>);
CUDA_STATELESS("StatelessRandomNormal", StatelessFloats<Distribution::kNormal>);
CUDA_STATELESS("StatelessTruncatedNormal", StatelessFloats<Distribution::kTruncatedNormal>);
CUDA_KERNEL("StatelessRandomUniformInt")
    .HostMemory("shape")
    .HostMemory("seed")
    .HostMemory("minval")
    .HostMemory("maxval")
    .ClassFor<StatelessInts>(IndexTypes{}, "dtype");

}  // namespace
}  // namespace millstream::cuda
