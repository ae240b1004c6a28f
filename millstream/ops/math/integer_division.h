// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_INTEGER_DIVISION_H_
#define MILLSTREAM_OPS_MATH_INTEGER_DIVISION_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "millstream/ops/elements/elementwise.h"

namespace millstream {

// Base of functors that divide integers: Fn::Finish(x, y, q) makes the result from the quotient q rounded towards zero.
// A zero divisor is an error; the one quotient that overflows (lowest value by -1) wraps around.
template <typename Fn>
struct CheckedDivision {
  static constexpr double kCost = 1.0;
  static constexpr bool kLibm = true;
  static constexpr const char* kError = "Integer division by zero";

  // Integers up to 32 bits divide exactly as floating-point numbers of twice the width, in vectors: the quotient of two
  // integers that is not an integer is farther from the next one than it can be wrong by rounding.
  template <typename T>
  static bool Array(const T* x, const T* y, T* z, int64_t n) {
    if constexpr (sizeof(T) < sizeof(int64_t)) {
      return InVectors<std::conditional_t<sizeof(T) == sizeof(int32_t), double, float>>(x, y, z, n);
    } else {
      bool ok = true;
      for (int64_t i = 0; i < n; ++i) {
        const T a = x[i], b = y[i], divisor = Trivial(b) ? T{1} : b;
        ok = ok && b != 0;
        z[i] = Result(a, b, static_cast<T>(a / divisor));
      }
      return ok;
    }
  }

 private:
  // Divisors that are treated apart: they trap.
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static bool Trivial(T b) {
    return b == T{0} || (std::is_signed_v<T> && b == static_cast<T>(-1));
  }
  // `q` is the quotient unless the divisor is trivial.
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Result(T a, T b, T q) {
    using U = std::make_unsigned_t<T>;
    const T negative = static_cast<T>(U{0} - static_cast<U>(a));
    const T quotient = std::is_signed_v<T> && b == static_cast<T>(-1) ? negative : q;
    const T result = Fn::Finish(a, b, quotient);
    return b == T{0} ? T{0} : result;
  }
  template <typename F, typename T>
  static bool InVectors(const T* x, const T* y, T* z, int64_t n) {
    const bool zeros = simd::Run<float>([=]() MILLSTREAM_INLINE_LAMBDA {
      T zero = 0;
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t i = 0; i < n; ++i) {
        const T a = x[i], b = y[i], divisor = Trivial(b) ? T{1} : b;
        zero = static_cast<T>(zero | static_cast<T>(b == T{0}));
        z[i] = Result(a, b, static_cast<T>(static_cast<F>(a) / static_cast<F>(divisor)));
      }
      return zero != 0;
    });
    return !zeros;
  }
};

// a - q b without overflow: only the low bits count.
template <typename T>
using Low = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, std::make_unsigned_t<T>>;
template <typename T>
MILLSTREAM_ALWAYS_INLINE T DivisionRemainder(T a, T b, T q) {
  return static_cast<T>(static_cast<Low<T>>(a) - static_cast<Low<T>>(q) * static_cast<Low<T>>(b));
}
// Whether a remainder r belongs to a quotient that was rounded up.
template <typename T>
MILLSTREAM_ALWAYS_INLINE bool RoundedUp(T r, T b) {
  return (r != 0) & ((r < 0) != (b < 0));
}

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
