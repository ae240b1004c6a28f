// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "millstream/math/vector_double.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/complex_near_zero.h"

namespace millstream {
namespace {

template <typename T>
bool AllAre(T exponent, const T* y, int64_t n) {
  if (n == 0 || y[0] != exponent) return false;
  return simd::Run<simd::VectorOf<T>>([=]() MILLSTREAM_INLINE_LAMBDA {
    int differ = 0;
    for (int64_t i = 0; i < n; ++i) differ |= static_cast<int>(y[i] != exponent);
    return differ == 0;
  });
}

// What the roots of infinity and zero are as powers: without a sign.
template <typename T>
MILLSTREAM_ALWAYS_INLINE T SquareRootPower(T x) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  return x == -kInf ? kInf : std::sqrt(x + T(0));
}

// The most common powers, if all exponents are the same one of them.
template <typename T>
bool CommonPower(const T* x, const T* y, T* z, int64_t n) {
  if (AllAre(T(2), y, n)) {
    simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { z[i] = x[i] * x[i]; });
    return true;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (AllAre(T(3), y, n)) {
      simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { z[i] = x[i] * (x[i] * x[i]); });
      return true;
    }
    if (AllAre(T(0.5), y, n)) {
      simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { z[i] = SquareRootPower(x[i]); });
      return true;
    }
    if (AllAre(T(-0.5), y, n)) {
      simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { z[i] = T(1) / SquareRootPower(x[i]); });
      return true;
    }
    if (AllAre(T(-1), y, n)) {
      simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { z[i] = T(1) / x[i]; });
      return true;
    }
  }
  return false;
}

struct PowFn {
  static constexpr double kCost = 10;
  template <typename T>
  static bool Array(const T* x, const T* y, T* z, int64_t n) {
    if (CommonPower(x, y, z, n)) return true;
    for (int64_t i = 0; i < n; ++i) z[i] = std::pow(x[i], y[i]);
    return true;
  }
};

struct IntPowFn {
  static constexpr double kCost = 10;
  static constexpr const char* kError = "Integers to negative integer powers are not allowed";
  template <typename T>
  static T Power(T x, T y) {
    uint64_t result = 1, base = static_cast<uint64_t>(x);
    for (auto left = static_cast<uint64_t>(y); left != 0; left >>= 1, base *= base) {
      if ((left & 1) != 0) result *= base;
    }
    return static_cast<T>(result);
  }
  // z = x to the power `exponent`, a few elements at a time, for all of which the same products are made.
  template <typename T>
  static void OnePower(const T* x, T exponent, T* z, int64_t n) {
    using U = std::conditional_t<sizeof(T) == sizeof(uint64_t), uint64_t, uint32_t>;
    simd::Run<simd::VectorOf<T>>([=]() MILLSTREAM_INLINE_LAMBDA {
      constexpr int64_t kBlock = 256;
      U result[kBlock], base[kBlock];
      for (int64_t first = 0; first < n; first += kBlock) {
        const int64_t count = std::min(kBlock, n - first);
        for (int64_t i = 0; i < count; ++i) base[i] = static_cast<U>(x[first + i]), result[i] = 1;
        for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
          if ((left & 1) != 0) {
            for (int64_t i = 0; i < count; ++i) result[i] *= base[i];
          }
          for (int64_t i = 0; left > 1 && i < count; ++i) base[i] *= base[i];
        }
        for (int64_t i = 0; i < count; ++i) z[first + i] = static_cast<T>(result[i]);
      }
      return 0;
    });
  }
  template <typename T>
  static bool Array(const T* x, const T* y, T* z, int64_t n) {
    if (n > 1 && y[0] >= 0 && AllAre(y[0], y, n)) {
      OnePower(x, y[0], z, n);
      return true;
    }
    bool ok = true;
    for (int64_t i = 0; i < n; ++i) {
      ok = ok && y[i] >= 0;
      z[i] = y[i] < 0 ? T(0) : Power(x[i], y[i]);
    }
    return ok;
  }
};

using WideTypes = Join<Types<float, double>, ComplexTypes>;

struct XlogyFn {
  static constexpr double kCost = 1.5;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    if constexpr (kIsComplex<T>)
      return x == T(0) ? T(0) : x * std::log(y);
    else
      return x == T(0) ? T(0) : x * math::wide::Log(y);
  }
};
struct Xlog1pyFn {
  static constexpr double kCost = 1.5;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    if constexpr (kIsComplex<T>)
      return x == T(0) ? T(0) : x * ComplexLog1p(y);
    else
      return x == T(0) ? T(0) : x * math::wide::Log1p(y);
  }
};
// Of 16-bit floats the logarithm is rounded as well as the product.
template <typename Narrow, bool plus_one>
struct NarrowXlogFn {
  static constexpr double kCost = 2.5;
  static constexpr bool kLibm = true;
  float operator()(float x, float y) const {
    const Narrow log(plus_one ? std::log1p(y) : std::log(y));
    return x == 0 ? 0 : x * static_cast<float>(log);
  }
};
struct XdivyFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return x == T(0) ? T(0) : x / y;
  }
};

Status PowGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output cx = m.Conj(x), cy = m.Conj(y);
  const Output gx = m.Mul(m.Mul(dz, cy), g.Op("Pow", {cx, m.Add(cy, -1.0)}));
  // log(x) where it exists, and 0 elsewhere.
  const Output zero = g.ConstLike(cx, 0);
  const Output mask = g.Op(IsComplex(x.dtype()) ? "NotEqual" : "Greater", {cx, zero});
  const Output safe = g.Op("SelectV2", {mask, cx, g.ConstLike(cx, 1)});
  const Output log = g.Op("SelectV2", {mask, g.Op("Log", {safe}), zero});
  BroadcastGrads(g, x, y, gx, m.Mul(m.Mul(dz, m.Conj(g.output(0))), log));
  return g.status();
}

// 1 where x is not 0.
Output NotZero(GradContext& g, Output x) {
  return g.Op("Cast", {g.Op("NotEqual", {x, g.ConstLike(x, 0)})}, {{"DstT", x.dtype()}});
}
Status XlogyGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  BroadcastGrads(g, x, y, m.Mul(g.Op("Xlogy", {NotZero(g, x), y}), dz), m.Mul(g.Op("Xdivy", {x, y}), dz));
  return g.status();
}
Status Xlog1pyGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  const Output gy = g.Op("Xdivy", {x, m.Add(y, 1.0)});
  BroadcastGrads(g, x, y, m.Mul(g.Op("Xlog1py", {NotZero(g, x), y}), dz), m.Mul(gy, dz));
  return g.status();
}
Status XdivyGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  const Output gy = g.Op("Xdivy", {m.Neg(x), m.Square(y)});
  BroadcastGrads(g, x, y, m.Mul(g.Op("Xdivy", {NotZero(g, x), y}), dz), m.Mul(gy, dz));
  return g.status();
}

BINARY_OP("Pow", "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}")
    .Gradient(PowGrad)
    .CpuFor<Binary<PowFn, FloatComplexTypes>>(FloatComplexTypes{})
    .CpuFor<Binary<IntPowFn, SignedTypes>>(SignedTypes{})
    .Doc("x to the power y, element by element with broadcasting.");

BINARY_OP("Xlogy", "T: {half, bfloat16, float, double, complex64, complex128}")
    .Gradient(XlogyGrad)
    .CpuFor<Binary<XlogyFn, WideTypes>>(WideTypes{})
    .CpuFor<Binary<NarrowXlogFn<Half, false>, Types<Half>>>(Types<Half>{})
    .CpuFor<Binary<NarrowXlogFn<BFloat16, false>, Types<BFloat16>>>(Types<BFloat16>{})
    .Doc("x * log(y), and 0 where x is 0.");

BINARY_OP("Xlog1py", "T: {half, bfloat16, float, double, complex64, complex128}")
    .Gradient(Xlog1pyGrad)
    .CpuFor<Binary<Xlog1pyFn, WideTypes>>(WideTypes{})
    .CpuFor<Binary<NarrowXlogFn<Half, true>, Types<Half>>>(Types<Half>{})
    .CpuFor<Binary<NarrowXlogFn<BFloat16, true>, Types<BFloat16>>>(Types<BFloat16>{})
    .Doc("x * log(1 + y), and 0 where x is 0.");

BINARY_OP("Xdivy", "T: {half, bfloat16, float, double, complex64, complex128}")
    .Gradient(XdivyGrad)
    .CpuFor<Binary<XdivyFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("x / y, and 0 where x is 0.");

}  // namespace
}  // namespace millstream
