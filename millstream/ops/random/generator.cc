// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/generator.h"

#include "millstream/ops/elements/axes.h"

namespace millstream {

using math::Philox;

StatusOr<Shape> ReadShapeInput(const Tensor& t) {
  Dims dims;
  RETURN_IF_ERROR(ReadIntVector(t, "shape", &dims));
  return MakeShape(dims);
}

StatusOr<Shape> ShapeOfSamples(const Tensor& samples, const Tensor& parameters) {
  ASSIGN_OR_RETURN(const Shape leading, ReadShapeInput(samples));
  std::vector<int64_t> dims(leading.dims().begin(), leading.dims().end());
  dims.insert(dims.end(), parameters.shape().dims().begin(), parameters.shape().dims().end());
  return Shape::Make(dims);
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

Status SeededShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckSeedShape(c.input(1)));
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status KeyedShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 0, &unused));
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(0));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status SamplesShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape samples, c.ConstantAsShape(0));
  c.set_output(0, samples.Concatenate(c.input(1)));
  return OkStatus();
}

}  // namespace millstream
