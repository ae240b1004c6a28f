// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

// Output 0 is input 0 with its rows in random order. generator(rows) is asked for only if there are several.
Status ShuffleRows(KernelContext& ctx, absl::FunctionRef<StatusOr<math::Philox>(int64_t)> generator) {
  const Tensor& value = ctx.input(0);
  const int64_t rows = value.rank() == 0 ? 1 : value.dim(0);
  if (rows <= 1 || value.num_elements() <= 1) {
    ctx.set_output(0, value);
    return OkStatus();
  }
  if (rows > UINT32_MAX) return errors::InvalidArgument("Cannot shuffle ", rows, " rows");
  ASSIGN_OR_RETURN(Tensor order, ctx.AllocateTemp(DType::kInt64, Shape({rows})));
  int64_t* indices = order.data<int64_t>();
  ASSIGN_OR_RETURN(const math::Philox philox, generator(rows));
  math::FillPermutation(philox, indices, rows);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.shape()));
  const int64_t width = value.num_elements() / rows;
  DispatchBlob(value.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* from = BlobData<T>(value);
    T* to = BlobData<T>(out);
    ctx.ParallelFor(rows, 2.0 + kCopyCost<T> * static_cast<double>(width), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) CopyRun(from + indices[i] * width, width, to + i * width);
    });
  });
  return OkStatus();
}

class RandomShuffle final : public Kernel {
 public:
  explicit RandomShuffle(KernelInit& init) : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}
  Status Compute(KernelContext& ctx) override {
    return ShuffleRows(ctx, [this](int64_t rows) -> StatusOr<math::Philox> {
      return stream_.Reserve(math::ReservedShuffleBlocks(rows));
    });
  }

 private:
  math::PhiloxStream stream_;
};

Status StatelessShuffleCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const math::Philox philox, GeneratorFromKey(ctx));
  return ShuffleRows(ctx, [&philox](int64_t) -> StatusOr<math::Philox> { return philox; });
}

OP("RandomShuffle")
    .Input("value: T")
    .Output("output: T")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("T: type")
    .Stateful()
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<RandomShuffle>()
    .Doc("The rows of `value` in random order.");
OP("StatelessShuffle")
    .Input("value: T")
    .Input("key: uint64")
    .Input("counter: uint64")
    .Input("alg: int32")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu(StatelessShuffleCpu)
    .Doc("The rows of `value` in an order that key and counter choose.");

}  // namespace
}  // namespace millstream
