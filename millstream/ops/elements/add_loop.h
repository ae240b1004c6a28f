// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_ADD_H_
#define MILLSTREAM_OPS_MATH_ADD_H_

#include "millstream/ops/elements/elementwise.h"

namespace millstream {

// Adds numbers; joins strings.
struct AddFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x + y);
  }
  std::string operator()(const std::string& x, const std::string& y) const { return x + y; }
};

// The loop of AddV2 for elements of this type. REQUIRES: a number type.
elementwise::LoopInfo<elementwise::BinaryLoop> AddLoop(DType dtype);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_ADD_H_
