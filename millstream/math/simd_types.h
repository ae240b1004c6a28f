// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_SIMD_TYPES_H_
#define MILLSTREAM_MATH_SIMD_TYPES_H_

#include <type_traits>

#include "millstream/math/simd.h"

namespace millstream::simd {

// The type to give to For() and Run() for loops over T that shall be compiled for every instruction set although T may
// be an integer. It pays where products, comparisons, conversions or shifts take the time: SSE2 has few of them for
// integers.
template <typename T>
using VectorOf = std::conditional_t<std::is_integral_v<T>, float, T>;

}  // namespace millstream::simd

#endif  // MILLSTREAM_MATH_SIMD_TYPES_H_
