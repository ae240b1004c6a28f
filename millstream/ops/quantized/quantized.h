// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUANTIZED_QUANTIZED_H_
#define MILLSTREAM_OPS_QUANTIZED_QUANTIZED_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/no_kernel.h"
#include "millstream/framework/shape_context.h"

// Quantized tensors: small integers that stand for numbers between two floats.
namespace millstream {

// The integer type behind a quantized element type: fn(std::type_identity<int8_t>) for qint8. False for other types.
template <typename Fn>
bool DispatchQuantized(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kQint8:
      return fn(std::type_identity<int8_t>{}), true;
    case DType::kQuint8:
      return fn(std::type_identity<uint8_t>{}), true;
    case DType::kQint16:
      return fn(std::type_identity<int16_t>{}), true;
    case DType::kQuint16:
      return fn(std::type_identity<uint16_t>{}), true;
    case DType::kQint32:
      return fn(std::type_identity<int32_t>{}), true;
    default:
      return false;
  }
}
// The elements as those integers. REQUIRES: of that size.
template <typename T>
const T* Integers(const Tensor& t) {
  return static_cast<const T*>(t.raw());
}
template <typename T>
T* Integers(Tensor* t) {
  return static_cast<T*>(t->raw());
}

using Qint8 = CarriedBits<DType::kQint8>;
using Quint8 = CarriedBits<DType::kQuint8>;
using Qint32 = CarriedBits<DType::kQint32, uint32_t>;

// A range cut into as many steps as T has values, zero on one of them ("MIN_FIRST"). In double, as TensorFlow computes
// what it needs once.
template <typename T>
class QuantizedRange {
 public:
  QuantizedRange(float low, float high)
      : low_(low),
        empty_(low == high),
        step_(static_cast<double>(high - low) * (kSteps / (kSteps - 1)) / kSteps),
        per_step_(kSteps / (static_cast<double>(high - low) * (kSteps / (kSteps - 1)))) {}

  float ToFloat(T code) const {
    if (empty_) return low_;
    const double first = std::round(low_ / static_cast<float>(step_)) * static_cast<float>(step_);
    return static_cast<float>(first + (static_cast<double>(code) - kLowest) * step_);
  }
  // May lie outside of T.
  int64_t CodeOf(float x) const {
    if (empty_) return std::numeric_limits<T>::lowest();
    const double code = std::round(x * per_step_) - std::round(low_ * per_step_) + kLowest;
    return code > -kFar ? static_cast<int64_t>(std::min(code, kFar)) : static_cast<int64_t>(-kFar);
  }
  T FromFloat(float x) const {
    return static_cast<T>(
        std::clamp<int64_t>(CodeOf(x), std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
  }

 private:
  static constexpr double kLowest = std::numeric_limits<T>::lowest();
  static constexpr double kSteps = static_cast<double>(std::numeric_limits<T>::max()) - kLowest + 1;
  static constexpr double kFar = 0x1p62;
  const float low_;
  const bool empty_;
  const double step_, per_step_;
};

// The same range in float, as TensorFlow computes with arrays.
template <typename T>
class FloatQuantizedRange {
 public:
  FloatQuantizedRange(float low, float high)
      : step_(static_cast<float>((high - low) / (kSteps - 1))),
        first_((high == low ? low : std::round(low / step_) * step_) - kLowest * step_),
        per_step_(high == low ? 0 : static_cast<float>((kSteps - 1) / (high - low))),
        low_code_(std::round(low * per_step_) - kLowest) {}

  float ToFloat(T code) const { return first_ + static_cast<float>(code) * step_; }
  T FromFloat(float x) const {
    const float code = std::round(x * per_step_) - low_code_;
    return static_cast<T>(static_cast<int32_t>(code > kLowest ? std::min(code, kHighest) : kLowest));
  }

 private:
  static constexpr float kLowest = static_cast<float>(std::numeric_limits<T>::lowest());
  // The largest float that is an int32.
  static constexpr float kHighest = std::min(static_cast<float>(std::numeric_limits<T>::max()), 2147483520.0f);
  static constexpr double kSteps =
      static_cast<double>(std::numeric_limits<T>::max()) - std::numeric_limits<T>::lowest() + 1;
  const float step_, first_, per_step_, low_code_;
};

// A range input: a float scalar.
inline StatusOr<float> RangeInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& t = ctx.input(i);
  if (t.rank() == 0) return t.data<float>()[0];
  return errors::InvalidArgument("`", name, "` must be rank 0 but is rank ", t.rank());
}

// Outputs i and i + 1: the range of what is before them.
inline Status OutputRange(KernelContext& ctx, int i, float low, float high) {
  ASSIGN_OR_RETURN(Tensor * out_low, ctx.AllocateOutput(i, Shape()));
  ASSIGN_OR_RETURN(Tensor * out_high, ctx.AllocateOutput(i + 1, Shape()));
  out_low->data<float>()[0] = low;
  out_high->data<float>()[0] = high;
  return OkStatus();
}

// A range that TensorFlow's quantized arithmetic has: the range of the products, as int32, of A and B.
template <typename A, typename B>
void RangeOfProducts(float low_a, float high_a, float low_b, float high_b, float* low, float* high) {
  const auto codes = []<typename T>(std::type_identity<T>) {
    return static_cast<int64_t>(std::numeric_limits<T>::max()) - std::numeric_limits<T>::lowest();
  };
  const float step_a = (high_a - low_a) / static_cast<float>(codes(std::type_identity<A>{}));
  const float step_b = (high_b - low_b) / static_cast<float>(codes(std::type_identity<B>{}));
  *low = step_a * step_b * static_cast<float>(std::numeric_limits<int32_t>::lowest());
  *high = step_a * step_b * static_cast<float>(std::numeric_limits<int32_t>::max());
}

// int32 arithmetic that wraps around.
inline int32_t WrapAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t WrapMul(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

// For OpBuilder::Cpu2: the kernel K whatever the types.
template <typename K>
struct OfTypes {
  template <typename, typename>
  class For final : public K {
   public:
    using K::K;
  };
};
// Fails the making of a kernel whose attribute `name` is another type.
inline void RequireType(KernelInit& init, const char* name, DType type) {
  const auto found = init.Attr<DType>(name);
  if (found != type) init.Fail(NoKernel(init, name, " is ", DTypeName(found)));
}

// Shape functions: inputs [first, first + n) are scalars, outputs 1 and 2 as well.
inline Status ScalarRanges(ShapeContext& c, int first, int n) {
  PartialShape unused;
  for (int i = first; i < first + n; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  c.set_output(1, Shape());
  c.set_output(2, Shape());
  return OkStatus();
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUANTIZED_QUANTIZED_H_
