// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/index_shuffle.h"

#include <algorithm>
#include <bit>

#include "millstream/framework/op.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// The cipher of Beaulieu et al., "The SIMON and SPECK Families of Lightweight Block Ciphers" (2013), for blocks of any
// even number of bits: a permutation of the numbers that a block can hold.
class Simon {
 public:
  Simon(int block_bits, const std::array<uint32_t, 3>& key, int rounds)
      : width_(block_bits / 2), mask_((uint64_t{1} << width_) - 1) {
    uint64_t sequence = 0x7369f885192c0ef5u & mask_;
    for (const uint32_t k : key) keys_.push_back(k & mask_);
    for (int i = 3; i < rounds; ++i, sequence >>= 1) {
      const uint64_t last = keys_[i - 1];
      const uint64_t mixed = keys_[i - 3] ^ Left(last, width_ - 3) ^ Left(last, width_ - 4);
      keys_.push_back((0xfffffffcu & mask_) ^ (sequence & 1) ^ mixed);
    }
  }
  uint64_t Encrypt(uint64_t block) const {
    uint64_t left = (block >> width_) & mask_, right = block & mask_;
    for (size_t i = 0; i + 1 < keys_.size(); i += 2) {
      left ^= Mix(right) ^ keys_[i];
      right ^= Mix(left) ^ keys_[i + 1];
    }
    return left << width_ | right;
  }

 private:
  uint64_t Left(uint64_t x, int by) const { return (x << by | x >> (width_ - by)) & mask_; }
  uint64_t Mix(uint64_t x) const { return (Left(x, 1) & Left(x, 8)) ^ Left(x, 2); }

  const int width_;
  const uint64_t mask_;
  std::vector<uint64_t> keys_;
};

}  // namespace

uint64_t ShuffledIndex(uint64_t index, const std::array<uint32_t, 3>& key, uint64_t highest, int rounds) {
  if (highest == 0) return 0;
  const int bits = highest == 1 ? 0 : 64 - std::countl_zero(highest - 1);
  const Simon cipher(std::max(bits + bits % 2, 16), key, rounds);
  do {
    index = cipher.Encrypt(index);
  } while (index > highest);
  return index;
}

namespace {

using ShuffleTypes = Types<int32_t, int64_t, uint32_t, uint64_t>;

class RandomIndexShuffle final : public Kernel {
 public:
  explicit RandomIndexShuffle(KernelInit& init) : rounds_(init.Attr<int>("rounds")) {
    constexpr int kMost = 1 << 20;
    if (rounds_ < 4 || rounds_ % 2 != 0 || rounds_ > kMost) {
      init.Fail(errors::InvalidArgument("Rounds must be >= 4 and even, got ", rounds_));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &index = ctx.input(0), &seed = ctx.input(1), &highest = ctx.input(2);
    if (index.rank() > 1) return errors::InvalidArgument("Index must be a scalar or vector.");
    if (seed.rank() < 1 || seed.rank() > 2 || seed.dim(seed.rank() - 1) != 3) {
      return errors::InvalidArgument("Seed must be a vector of size 3 or matrix with 3 columns but got shape ",
                                     seed.shape().ToString());
    }
    if (highest.rank() > 1) return errors::InvalidArgument("Maxval must be a scalar or vector.");
    int64_t n = 1;
    const int64_t sizes[] = {index.rank() == 1 ? index.dim(0) : -1, seed.rank() == 2 ? seed.dim(0) : -1,
                             highest.rank() == 1 ? highest.dim(0) : -1};
    bool vector = false;
    for (const int64_t size : sizes) {
      if (size < 0) continue;
      if (vector && size != n) return errors::InvalidArgument("Index, seed and maxval must have the same length.");
      vector = true;
      n = size;
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, vector ? Shape({n}) : Shape()));
    Status status;
    DispatchOver(ShuffleTypes{}, index.dtype(),
                 [&](auto type) { status = Fill<typename decltype(type)::type>(index, seed, highest, n, out); });
    return status;
  }

 private:
  template <typename T>
  Status Fill(const Tensor& index, const Tensor& seed, const Tensor& highest, int64_t n, Tensor* out) const {
    for (int64_t i = 0; i < n; ++i) {
      const T at = index.data<T>()[index.rank() == 1 ? i : 0], limit = highest.data<T>()[highest.rank() == 1 ? i : 0];
      if (at < T(0)) return errors::InvalidArgument("index must be >= 0, got ", at);
      if (limit < T(0)) return errors::InvalidArgument("max_index must be >= 0, got ", limit);
      if (limit < at) return errors::InvalidArgument("max_index must be >= index, got ", limit, " < ", at);
      std::array<uint32_t, 3> key{};
      DispatchOver(ShuffleTypes{}, seed.dtype(), [&](auto type) {
        using S = typename decltype(type)::type;
        const S* from = seed.data<S>() + (seed.rank() == 2 ? 3 * i : 0);
        for (int k = 0; k < 3; ++k) key[k] = static_cast<uint32_t>(from[k]);
      });
      out->data<T>()[i] =
          static_cast<T>(ShuffledIndex(static_cast<uint64_t>(at), key, static_cast<uint64_t>(limit), rounds_));
    }
    return OkStatus();
  }

  const int rounds_;
};

Status IndexShuffleShape(ShapeContext& c) {
  PartialShape index, seed, highest;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(0), 1, &index));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &seed));
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(1), 2, &seed));
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(2), 1, &highest));
  if (seed.rank_known() && seed.dim(seed.rank() - 1) >= 0 && seed.dim(seed.rank() - 1) != 3) {
    return errors::InvalidArgument("Seed must have shape [3] or [n, 3] but got ", seed.ToString());
  }
  if (!index.rank_known() || !seed.rank_known() || !highest.rank_known()) return OkStatus();
  const bool vector = index.rank() == 1 || seed.rank() == 2 || highest.rank() == 1;
  int64_t n = -1;
  if (index.rank() == 1) RETURN_IF_ERROR(ShapeContext::MergeDim(n, index.dim(0), &n));
  if (seed.rank() == 2) RETURN_IF_ERROR(ShapeContext::MergeDim(n, seed.dim(0), &n));
  if (highest.rank() == 1) RETURN_IF_ERROR(ShapeContext::MergeDim(n, highest.dim(0), &n));
  c.set_output(0, vector ? PartialShape({n}) : PartialShape(Shape()));
  return OkStatus();
}

OP("RandomIndexShuffle")
    .Input("index: dtype")
    .Input("seed: Tseed")
    .Input("max_index: dtype")
    .Output("output: dtype")
    .Attr("rounds: int = 4")
    .Attr("dtype: {int32, uint32, int64, uint64}")
    .Attr("Tseed: {int32, uint32, int64, uint64}")
    .Shape(IndexShuffleShape)
    .NotDifferentiable()
    .CpuFor<RandomIndexShuffle>(ShuffleTypes{}, "dtype")
    .Doc("Where an index goes when [0, max_index] is put into the random order of `seed`.");

}  // namespace
}  // namespace millstream
