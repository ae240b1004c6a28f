// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/generator.h"

#include "millstream/ops/array/axes.h"

namespace millstream {

using math::Philox;

StatusOr<Shape> ReadShapeInput(const Tensor& t) {
  Dims dims;
  RETURN_IF_ERROR(ReadIntVector(t, "shape", &dims));
  return MakeShape(dims);
}

StatusOr<Philox> GeneratorFromSeed(const Tensor& seed) {
  if (seed.rank() != 1 || seed.dim(0) != 2) {
    return errors::InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
  }
  if (seed.dtype() != DType::kInt32 && seed.dtype() != DType::kInt64) {
    return errors::InvalidArgument("Invalid seed type: ", DTypeName(seed.dtype()));
  }
  Dims s;
  RETURN_IF_ERROR(ReadInts(seed, &s));
  const auto low = [](int64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); };
  Philox mixer({low(s[0]), high(s[0]), low(s[1]), high(s[1])}, {0x3ec8f720, 0x02461e29});
  const Philox::Block mix = mixer.Next();
  return Philox({0, 0, mix[2], mix[3]}, {mix[0], mix[1]});
}

StatusOr<Philox> GeneratorFromKey(const KernelContext& ctx) {
  const Tensor &key = ctx.input(1), &counter = ctx.input(2), &alg = ctx.input(3);
  if (alg.rank() != 0) return errors::InvalidArgument("algorithm must be of shape [], not ", alg.shape().ToString());
  const int32_t id = alg.scalar<int32_t>();
  if (id != kPhiloxAlg && id != kAnyAlg) return errors::InvalidArgument("Unsupported algorithm id: ", id);
  if (key.rank() != 1 || key.dim(0) != 1) {
    return errors::InvalidArgument("key must have shape [1], not ", key.shape().ToString());
  }
  if (counter.rank() != 1 || counter.dim(0) < 2) {
    return errors::InvalidArgument("counter must be a vector with at least 2 elements, not ",
                                   counter.shape().ToString());
  }
  const uint64_t k = key.data<uint64_t>()[0], c0 = counter.data<uint64_t>()[0], c1 = counter.data<uint64_t>()[1];
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  return Philox({low(c0), high(c0), low(c1), high(c1)}, {low(k), high(k)});
}

Status CheckSeedShape(const PartialShape& seed) {
  PartialShape vector;
  RETURN_IF_ERROR(ShapeContext::WithRank(seed, 1, &vector));
  int64_t two = 2;
  return ShapeContext::MergeDim(vector.dim(0), two, &two);
}

}  // namespace millstream
