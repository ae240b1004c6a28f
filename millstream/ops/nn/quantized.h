// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_QUANTIZED_H_
#define MILLSTREAM_OPS_NN_QUANTIZED_H_

#include <cmath>
#include <limits>

#include "millstream/framework/kernel.h"

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

// A range cut into as many steps as T has values, zero on one of them ("MIN_FIRST").
template <typename T>
class MinFirst {
 public:
  MinFirst(float low, float high)
      : step_((static_cast<double>(high) - low) * (kSteps / (kSteps - 1)) / kSteps),
        low_(high == low ? low : std::round(low / static_cast<float>(step_)) * static_cast<float>(step_)),
        first_(high == low ? 0 : std::round(low / step_)) {}
  float ToFloat(T q) const { return static_cast<float>(low_ + (static_cast<double>(q) - kLowest) * step_); }
  T FromFloat(float x) const {
    if (step_ == 0) return std::numeric_limits<T>::lowest();
    const double q = std::round(x / step_) - first_ + kLowest;
    if (!(q > kLowest)) return std::numeric_limits<T>::lowest();
    return q >= kHighest ? std::numeric_limits<T>::max() : static_cast<T>(q);
  }

 private:
  static constexpr double kLowest = std::numeric_limits<T>::lowest(), kHighest = std::numeric_limits<T>::max();
  static constexpr double kSteps = kHighest - kLowest + 1;
  const double step_, low_, first_;
};

// A range input: a float scalar.
inline StatusOr<float> RangeInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& t = ctx.input(i);
  if (t.num_elements() == 1) return t.data<float>()[0];
  return errors::InvalidArgument("`", name, "` must be rank 0 but is rank ", t.rank());
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_QUANTIZED_H_
