// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "millstream/math/functions/vector_inverse.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// B(2k) of Bernoulli, k = 1 ... 12.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                 5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

// The logarithmic derivative of gamma: reflection below 0, recurrence up to 10, then the asymptotic series.
double Digamma(double x) {
  double result = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    // The fraction keeps the argument of tan small.
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::floor(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double inverse = 1 / (x * x);
  double power = inverse, series = 0;
  for (int k = 1; k <= 8; ++k, power *= inverse) series += kBernoulli[k - 1] / (2 * k) * power;
  return result + std::log(x) - 0.5 / x - series;
}

// Hurwitz's zeta by Euler's and Maclaurin's sum formula.
double Zeta(double x, double q) {
  if (x == 1) return kInfinity;
  if (!(x > 1)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (x != std::floor(x)) return kNan;
  }
  double sum = 0;
  for (; q < 12; q += 1) sum += std::pow(q, -x);
  const double term = std::pow(q, -x);
  sum += term * q / (x - 1) + 0.5 * term;
  // B(2k) / (2k)! * x (x + 1) ... (x + 2k - 2) * q^(1 - x - 2k)
  double factor = x * term / q / 2;
  for (int k = 1; k <= 12; ++k) {
    const double step = kBernoulli[k - 1] * factor;
    sum += step;
    if (std::fabs(step) < 1e-17 * std::fabs(sum)) break;
    factor *= (x + 2 * k - 1) * (x + 2 * k) / ((2 * k + 1) * (2 * k + 2) * q * q);
  }
  return sum;
}

double Polygamma(double n, double x) {
  if (n != std::floor(n) || n < 0) return kNan;
  if (n == 0) return Digamma(x);
  const double sign = std::fmod(n, 2) == 1 ? 1 : -1;
  return sign * std::tgamma(n + 1) * Zeta(n + 1, x);
}

struct LibmFn {
  static constexpr double kCost = 20;
  static constexpr bool kLibm = true;
};
struct ErfFn {
  static constexpr double kCost = 1.0;
  static constexpr bool kLibmDouble = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return math::Erf(x);
  }
};
struct ErfcFn {
  static constexpr double kCost = 2.0;
  static constexpr bool kLibmDouble = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Erfc(x);
    else
      return std::erfc(x);
  }
};
// std::lgamma writes a global variable.
struct LgammaFn : LibmFn {
  float operator()(float x) const {
    int sign = 0;
    return lgammaf_r(x, &sign);
  }
  double operator()(double x) const {
    int sign = 0;
    return lgamma_r(x, &sign);
  }
};
struct DigammaFn : LibmFn {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(Digamma(x));
  }
};
struct ZetaFn : LibmFn {
  template <typename T>
  T operator()(T x, T q) const {
    return static_cast<T>(Zeta(x, q));
  }
};
struct PolygammaFn : LibmFn {
  template <typename T>
  T operator()(T n, T x) const {
    return static_cast<T>(Polygamma(n, x));
  }
};

Status ErrorFunctionGrad(GradContext& g, double scale) {
  const GradMath m(g);
  const Output slope = g.Op("Exp", {m.Neg(m.Square(g.input(0)))});
  g.set_dx(0, m.Mul(m.Mul(g.dy(0), scale), slope));
  return g.status();
}
Status ErfGrad(GradContext& g) { return ErrorFunctionGrad(g, 2 * std::numbers::inv_sqrtpi); }
Status ErfcGrad(GradContext& g) { return ErrorFunctionGrad(g, -2 * std::numbers::inv_sqrtpi); }

Status LgammaGrad(GradContext& g) {
  g.set_dx(0, GradMath(g).Mul(g.dy(0), g.Op("Digamma", {g.input(0)})));
  return g.status();
}
Status DigammaGrad(GradContext& g) {
  const Output x = g.input(0);
  g.set_dx(0, GradMath(g).Mul(g.dy(0), g.Op("Polygamma", {g.ConstLike(x, 1.0), x})));
  return g.status();
}
// In x there is none.
Status ZetaGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), q = g.input(1);
  const Output partial = m.Mul(m.Neg(x), g.Op("Zeta", {m.Add(x, 1.0), q}));
  BroadcastGrads(g, x, q, m.ZerosLike(partial), m.Mul(partial, g.dy(0)));
  g.set_dx(0, Grad());
  return g.status();
}
Status PolygammaGrad(GradContext& g) {
  const GradMath m(g);
  const Output n = g.input(0), x = g.input(1);
  const Output partial = g.Op("Polygamma", {m.Add(n, 1.0), x});
  BroadcastGrads(g, n, x, m.ZerosLike(partial), m.Mul(partial, g.dy(0)));
  g.set_dx(0, Grad());
  return g.status();
}

using GammaTypes = Types<Half, float, double>;
using WideTypes = Types<float, double>;

UNARY_OP("Erf", "T: {bfloat16, half, float, double}")
    .Gradient(ErfGrad)
    .CpuFor<Unary<ErfFn, FloatTypes>>(FloatTypes{})
    .Doc("The error function.");

UNARY_OP("Erfc", "T: {bfloat16, half, float, double}")
    .Gradient(ErfcGrad)
    .CpuFor<Unary<ErfcFn, FloatTypes>>(FloatTypes{})
    .Doc("1 - Erf(x), exact also where that is tiny.");

UNARY_OP("Lgamma", "T: {bfloat16, half, float, double}")
    .Gradient(LgammaGrad)
    .CpuFor<Unary<LgammaFn, GammaTypes>>(GammaTypes{})
    .Doc("The logarithm of the absolute value of the gamma function.");

UNARY_OP("Digamma", "T: {bfloat16, half, float, double}")
    .Gradient(DigammaGrad)
    .CpuFor<Unary<DigammaFn, GammaTypes>>(GammaTypes{})
    .Doc("The derivative of Lgamma.");

OP("Zeta")
    .Input("x: T")
    .Input("q: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Shape(BroadcastBinaryShape)
    .Gradient(ZetaGrad)
    .CpuFor<Binary<ZetaFn, WideTypes>>(WideTypes{})
    .Doc("Hurwitz's zeta function: the sum of (q + n)^-x over n >= 0.");

OP("Polygamma")
    .Input("a: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Shape(BroadcastBinaryShape)
    .Gradient(PolygammaGrad)
    .CpuFor<Binary<PolygammaFn, WideTypes>>(WideTypes{})
    .Doc("The derivative of order a of Digamma at x.");

}  // namespace
}  // namespace millstream
