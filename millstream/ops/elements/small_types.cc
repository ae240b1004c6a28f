// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/small_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace millstream {
namespace {

// A sign, `exponent` bits of exponent and `mantissa` bits of mantissa.
struct Format {
  int exponent, mantissa, bias;
  double largest;
  int infinity;    // its code, or -1
  int nan;         // its code, or -1
  bool zero_once;  // the code of minus zero is that of NaN

  int sign() const { return 1 << (exponent + mantissa); }
};

Format FormatOf(DType type) {
  switch (type) {
    case DType::kFloat8E5m2:
      return {5, 2, 15, 57344, 0x7c, 0x7e, false};
    case DType::kFloat8E4m3fn:
      return {4, 3, 7, 448, -1, 0x7f, false};
    case DType::kFloat8E4m3fnuz:
      return {4, 3, 8, 240, -1, 0x80, true};
    case DType::kFloat8E4m3b11fnuz:
      return {4, 3, 11, 30, -1, 0x80, true};
    case DType::kFloat8E5m2fnuz:
      return {5, 2, 16, 57344, -1, 0x80, true};
    default:
      return {2, 1, 1, 6, -1, -1, false};
  }
}

double Decode(const Format& f, int code) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const int size = code & (f.sign() - 1);
  if (f.zero_once && code == f.nan) return kNaN;
  const double sign = (code & f.sign()) != 0 ? -1 : 1;
  if (f.infinity >= 0 && size == f.infinity) return sign * std::numeric_limits<double>::infinity();
  const int mantissa = size & ((1 << f.mantissa) - 1), exponent = size >> f.mantissa;
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << f.mantissa);
  const double value = std::ldexp(whole, std::max(exponent, 1) - f.bias - f.mantissa);
  return value > f.largest ? kNaN : sign * value;
}

uint8_t Encode(const Format& f, double x) {
  const int sign = std::signbit(x) ? f.sign() : 0;
  const auto special = [&](int code) { return static_cast<uint8_t>(f.zero_once ? code : code | sign); };
  if (std::isnan(x)) return f.nan < 0 ? static_cast<uint8_t>(f.sign() ^ sign) : special(f.nan);
  const double size = std::fabs(x);
  int exponent = 1 - f.bias;
  if (size > 0 && std::isfinite(size)) exponent = std::max(std::ilogb(size), exponent);
  const double steps = std::isinf(size) ? size : std::nearbyint(std::ldexp(size, f.mantissa - exponent));
  if (std::ldexp(steps, exponent - f.mantissa) > f.largest) {
    if (f.infinity >= 0) return special(f.infinity);
    return f.nan >= 0 ? special(f.nan) : static_cast<uint8_t>((f.sign() - 1) | sign);
  }
  const int whole = static_cast<int>(steps), hidden = 1 << f.mantissa;
  if (whole == 0 && f.zero_once) return 0;
  // A carry out of the mantissa goes into the exponent.
  const int code = whole < hidden ? whole : ((exponent + f.bias) << f.mantissa) + (whole - hidden);
  return static_cast<uint8_t>(code | sign);
}

}  // namespace

bool IsSmallFloat(DType t) {
  return (t >= DType::kFloat8E5m2 && t <= DType::kFloat8E5m2fnuz) || t == DType::kFloat4E2m1fn;
}
bool IsSmallInt(DType t) { return t >= DType::kInt4 && t <= DType::kUint2; }

void DecodeSmallFloats(DType type, const void* from, double* to, int64_t n) {
  const Format f = FormatOf(type);
  std::array<double, 256> table;
  for (int code = 0; code < 256; ++code) table[code] = Decode(f, code);
  for (int64_t i = 0; i < n; ++i) to[i] = table[static_cast<const uint8_t*>(from)[i]];
}

void EncodeSmallFloats(DType type, const double* from, void* to, int64_t n) {
  const Format f = FormatOf(type);
  for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(to)[i] = Encode(f, from[i]);
}

void DecodeSmallInts(DType type, const void* from, int8_t* to, int64_t n) {
  const int bits = type == DType::kInt4 || type == DType::kUint4 ? 4 : 2;
  const bool is_signed = type == DType::kInt4 || type == DType::kInt2;
  for (int64_t i = 0; i < n; ++i) {
    const int low = static_cast<const uint8_t*>(from)[i] & ((1 << bits) - 1);
    to[i] = static_cast<int8_t>(is_signed && low >> (bits - 1) != 0 ? low - (1 << bits) : low);
  }
}

void EncodeSmallInts(DType type, const int8_t* from, void* to, int64_t n) {
  const int mask = type == DType::kInt4 || type == DType::kUint4 ? 15 : 3;
  for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(from[i] & mask);
}

}  // namespace millstream
