// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_INTEGER_DIVISION_H_
#define MILLSTREAM_OPS_MATH_INTEGER_DIVISION_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "millstream/ops/elements/elementwise.h"

namespace millstream {

// Base of functors that divide integers: Fn::Apply(x, y) is called where the machine can do it. A zero divisor is an
// error; the one quotient that overflows (lowest value by -1) wraps around.
template <typename Fn>
struct CheckedDivision {
  static constexpr double kCost = 2.0;
  static constexpr bool kLibm = true;
  static constexpr const char* kError = "Integer division by zero";

  template <typename T>
  static bool Array(const T* x, const T* y, T* z, int64_t n) {
    bool ok = true;
    for (int64_t i = 0; i < n; ++i) {
      const T a = x[i], b = y[i];
      if (b == 0) {
        ok = false;
        z[i] = 0;
      } else if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
        // By +1 of the negated dividend: the same quotient and remainder, without the trap.
        z[i] = Fn::Apply(static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a)), T{1});
      } else {
        z[i] = Fn::Apply(a, b);
      }
    }
    return ok;
  }
};

// TensorFlow reports the zero divisors of TruncateDiv and TruncateMod as an error of its own.
template <typename Fn, typename TypeList>
class TruncatingBinary final : public BinaryKernel {
 public:
  explicit TruncatingBinary(KernelInit& init)
      : BinaryKernel(elementwise::SelectBinary<Fn>(TypeList{}, RemoveRef(init.input_types()[0]))) {}
  Status Compute(KernelContext& ctx) override {
    Status status = BinaryKernel::Compute(ctx);
    if (status.ok() || status.message() != Fn::kError) return status;
    return errors::Internal(status.message());
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_INTEGER_DIVISION_H_
