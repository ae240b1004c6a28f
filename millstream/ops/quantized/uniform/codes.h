// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUANTIZED_UNIFORM_CODES_H_
#define MILLSTREAM_OPS_QUANTIZED_UNIFORM_CODES_H_

#include <cmath>
#include <cstdint>

namespace millstream::uniform {

inline int32_t WrapSubtract(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

// floor(x * per_unit + 1/2), with the ends of int32 for what lies beyond, and the low end for what is no number.
inline int64_t RoundedCode(float x, float per_unit) {
  const float code = std::floor(x * per_unit + 0.5f);
  if (!(code > -0x1p31f)) return INT32_MIN;
  return code < 0x1p31f ? static_cast<int64_t>(code) : INT32_MAX;
}

}  // namespace millstream::uniform

#endif  // MILLSTREAM_OPS_QUANTIZED_UNIFORM_CODES_H_
