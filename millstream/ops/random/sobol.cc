// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/random/sobol_numbers.h"

namespace millstream {
namespace {

constexpr int kSobolDigits = 31;
constexpr int32_t kTensorFlowDimensions = 21200;

// The fractions of one dimension, in units of 2^-31: the k-th changes digit k of a point and some below it.
using SobolDirections = std::array<uint32_t, kSobolDigits>;

// Whether the powers of x modulo a polynomial of that degree over {0, 1} run through everything but 0.
bool IsPrimitive(uint32_t polynomial, int degree) {
  uint32_t power = 1;
  for (uint32_t length = 1;; ++length) {
    power <<= 1;
    if ((power >> degree) != 0) power ^= polynomial;
    if (power == 1) return length == (uint32_t{1} << degree) - 1;
    if (power == 0) return false;
  }
}

// The directions of the first `dimensions` dimensions: a primitive polynomial for each, in the order of their
// coefficients, and the numbers that it begins with.
std::vector<SobolDirections> MakeDirections(int dimensions) {
  std::vector<SobolDirections> all;
  SobolDirections first;
  for (int k = 0; k < kSobolDigits; ++k) first[k] = uint32_t{1} << (kSobolDigits - 1 - k);
  all.push_back(first);
  int64_t bit = 0;
  const auto read = [&](int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++bit) {
      value |= static_cast<uint32_t>((kSobolBits[bit / 64] >> (bit % 64)) & 1) << i;
    }
    return value;
  };
  for (int degree = 1; static_cast<int>(all.size()) < dimensions; ++degree) {
    const uint32_t top = uint32_t{1} << degree;
    for (uint32_t p = top | 1; p < 2 * top && static_cast<int>(all.size()) < dimensions; p += 2) {
      if (!IsPrimitive(p, degree)) continue;
      SobolDirections v{};
      for (int k = 0; k < degree; ++k) v[k] = (2 * read(k) + 1) << (kSobolDigits - 1 - k);
      for (int k = degree; k < kSobolDigits; ++k) {
        v[k] = v[k - degree] ^ (v[k - degree] >> degree);
        for (int i = 1; i < degree; ++i) v[k] ^= ((p >> (degree - i)) & 1) * v[k - i];
      }
      all.push_back(v);
    }
  }
  return all;
}

// Points [begin, end) of the sequence, the one of zeros left out.
template <typename T>
void FillPoints(const std::vector<SobolDirections>& directions, uint32_t begin, uint32_t end, T* out) {
  const size_t dim = directions.size();
  std::vector<uint32_t> point(dim, 0);
  const uint32_t gray = (begin + 1) ^ ((begin + 1) >> 1);
  for (size_t j = 0; j < dim; ++j) {
    for (int k = 0; k < kSobolDigits; ++k) point[j] ^= ((gray >> k) & 1) * directions[j][k];
  }
  for (uint32_t n = begin; n < end; ++n) {
    for (size_t j = 0; j < dim; ++j) *out++ = static_cast<T>(point[j]) * static_cast<T>(0x1p-31);
    const int k = std::countr_one(n + 1);
    for (size_t j = 0; k < kSobolDigits && j < dim; ++j) point[j] ^= directions[j][k];
  }
}

template <typename T>
class SobolSample final : public Kernel {
 public:
  explicit SobolSample(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    int32_t dim = 0, count = 0, skip = 0;
    RETURN_IF_ERROR(Read(ctx, 0, "dim", &dim));
    RETURN_IF_ERROR(Read(ctx, 1, "num_results", &count));
    RETURN_IF_ERROR(Read(ctx, 2, "skip", &skip));
    RETURN_IF_ERROR(Check(dim, count, skip));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({count, dim})));
    const std::vector<SobolDirections> directions = MakeDirections(dim);
    ctx.ParallelFor(
        count, 1.0 * dim,
        [&](int64_t begin, int64_t end) {
          FillPoints(directions, static_cast<uint32_t>(skip + begin), static_cast<uint32_t>(skip + end),
                     out->data<T>() + begin * dim);
        },
        /*align=*/256);
    return OkStatus();
  }

 private:
  static Status Read(const KernelContext& ctx, int i, const char* name, int32_t* value) {
    if (ctx.input(i).rank() != 0) return errors::InvalidArgument(name, " must be a scalar");
    *value = ctx.input(i).data<int32_t>()[0];
    return OkStatus();
  }
  static Status Check(int32_t dim, int32_t count, int32_t skip) {
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    if (dim < 1) return errors::InvalidArgument("dim must be at least one");
    if (dim > kTensorFlowDimensions) return errors::InvalidArgument("dim must be at most ", kTensorFlowDimensions);
    if (count < 1) return errors::InvalidArgument("num_results must be at least one");
    if (skip < 0) return errors::InvalidArgument("skip must be non-negative");
    if (count >= kMost - skip) return errors::InvalidArgument("num_results+skip must be less than ", kMost);
    if (count >= kMost / dim) return errors::InvalidArgument("num_results*dim must be less than ", kMost);
    if (dim <= kSobolDimensions) return OkStatus();
    return errors::Unimplemented("dim is ", dim, ": there are numbers for ", kSobolDimensions, " dimensions only");
  }
};

Status SobolSampleShape(ShapeContext& c) {
  PartialShape unused;
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  int64_t dim = -1, count = -1;
  if (c.ConstantInt(0, &dim) && dim < 1) return errors::InvalidArgument("dim must be at least one");
  if (c.ConstantInt(1, &count) && count < 1) return errors::InvalidArgument("num_results must be at least one");
  c.set_output(0, PartialShape({count, dim}));
  return OkStatus();
}

OP("SobolSample")
    .Input("dim: int32")
    .Input("num_results: int32")
    .Input("skip: int32")
    .Output("samples: dtype")
    .Attr("dtype: {float, double} = DT_FLOAT")
    .Shape(SobolSampleShape)
    .NotDifferentiable()
    .Cpu<SobolSample>(Types<float, double>{}, "dtype")
    .Doc("Points of the Sobol sequence in the unit cube.");

}  // namespace
}  // namespace millstream
