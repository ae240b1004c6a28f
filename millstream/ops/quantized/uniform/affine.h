// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUANTIZED_UNIFORM_AFFINE_H_
#define MILLSTREAM_OPS_QUANTIZED_UNIFORM_AFFINE_H_

#include <algorithm>
#include <cstdint>

#include "millstream/framework/kernel.h"

// Uniformly quantized tensors: an integer code stands for scale * (code - zero point), with one scale and zero point
// for the whole tensor, or one for each index of an axis ("channel").
namespace millstream::uniform {

// Codes are cut to this range, from attributes <prefix>quantization_min_val and _max_val.
struct CodeRange {
  CodeRange(KernelInit& init, absl::string_view prefix);
  // The low end counts if they are the wrong way round.
  int32_t Clamp(int64_t code) const {
    return static_cast<int32_t>(std::max<int64_t>(low, std::min<int64_t>(high, code)));
  }

  int low, high;
};

// Attribute <prefix>quantization_axis. Making the kernel fails if it is less than -1 (no axis).
int AxisAttr(KernelInit& init, absl::string_view prefix);

// A tensor's elements in memory order, seen as [any, channels, inner].
class Channels {
 public:
  Channels() = default;
  // `axis` -1: one channel. REQUIRES: -1 <= axis < rank.
  Channels(const Shape& shape, int axis);

  int64_t count() const { return count_; }
  // REQUIRES: the tensor has elements.
  int64_t of(int64_t element) const { return count_ == 1 ? 0 : element / inner_ % count_; }

  // Calls fn(channel, begin, end) on runs of elements of one channel that cover the tensor, on several threads.
  template <typename Fn>
  void ForEachRun(KernelContext& ctx, int64_t num_elements, double cost, Fn fn) const {
    ctx.ParallelFor(num_elements, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, next; i < end; i = next) {
        next = count_ == 1 ? end : std::min(end, (i / inner_ + 1) * inner_);
        fn(of(i), i, next);
      }
    });
  }

 private:
  int64_t count_ = 1, inner_ = 1;
};

// The scales and zero points of a tensor. They stay those of the two tensors.
class Scales {
 public:
  // InvalidArgument unless both are scalars, or with an axis vectors of its size.
  static StatusOr<Scales> Read(const Shape& data, const Tensor& scales, const Tensor& zeros, int axis);

  bool per_channel() const { return per_channel_; }
  int64_t size() const { return size_; }
  bool AllPositive() const;
  float scale(int64_t channel) const { return scales_[per_channel_ ? channel : 0]; }
  int32_t zero(int64_t channel) const { return zeros_[per_channel_ ? channel : 0]; }

 private:
  const float* scales_ = nullptr;
  const int32_t* zeros_ = nullptr;
  int64_t size_ = 0;
  bool per_channel_ = false;
};

// Multiplies integers by a positive number, in fixed point with 31 bits, and rounds (halves up). Saturates.
class FixedMultiplier {
 public:
  // InvalidArgument unless positive and finite. Factors below 2^-32 act as zero, from 2^30 on as 2^30.
  static StatusOr<FixedMultiplier> Make(double factor);

  int32_t operator()(int32_t x) const {
    const int64_t rounded = (int64_t{x} * mantissa_ + (int64_t{1} << (shift_ - 1))) >> shift_;
    return static_cast<int32_t>(std::clamp<int64_t>(rounded, INT32_MIN, INT32_MAX));
  }

 private:
  int32_t mantissa_ = 0;
  int shift_ = 1;  // to the right, 1 to 62
};

}  // namespace millstream::uniform

#endif  // MILLSTREAM_OPS_QUANTIZED_UNIFORM_AFFINE_H_
