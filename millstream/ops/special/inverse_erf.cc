// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// The quantile function of the normal distribution: Acklam's rational approximations (relative error 1.2e-9), and then
// one step of Halley's method, which brings it to rounding error.
double Polynomial(const double* c, int n, double x) {
  double sum = c[0];
  for (int i = 1; i < n; ++i) sum = sum * x + c[i];
  return sum;
}

double LowerTail(double p) {  // p < 0.5
  static constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                  1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                  6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  static constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                  -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                  3.754408661907416e+00, 1.0};
  double x = 0;
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    x = Polynomial(kC, 6, q) / Polynomial(kD, 5, q);
  } else {
    const double q = p - 0.5, r = q * q;
    x = Polynomial(kA, 6, r) * q / Polynomial(kB, 6, r);
  }
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  if (density == 0) return x;
  const double error = (0.5 * std::erfc(-x / std::numbers::sqrt2) - p) / density;
  return x - error / (1 + 0.5 * x * error);
}

double Ndtri(double p) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p == 0.5) return 0;
  return p < 0.5 ? LowerTail(p) : -LowerTail(1 - p);
}

// By Newton's method on erf near the middle, where the quantile of (x + 1) / 2 would lose digits of x.
double Erfinv(double x) {
  if (std::fabs(x) > 0.5) {
    const double tail = Ndtri(0.5 * (1 - std::fabs(x)));  // not above 0
    return std::copysign(tail, x) / std::numbers::sqrt2;
  }
  double y = x * 0.5 * std::sqrt(std::numbers::pi) * (1 + x * x * std::numbers::pi / 12);
  for (int i = 0; i < 4; ++i) {
    const double step = (std::erf(y) - x) * 0.5 * std::sqrt(std::numbers::pi) * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return y;
}

struct SlowFn {
  static constexpr double kCost = 60;
  static constexpr bool kLibm = true;
};
struct NdtriFn : SlowFn {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(Ndtri(x));
  }
};
struct ErfinvFn : SlowFn {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(Erfinv(x));
  }
};
struct NextAfterFn : SlowFn {
  static constexpr double kCost = 2;
  template <typename T>
  T operator()(T x, T y) const {
    return std::nextafter(x, y);
  }
};

Status ErfinvGrad(GradContext& g) {
  const GradMath m(g);
  const Output slope = m.Mul(g.Op("Exp", {m.Square(g.output(0))}), std::sqrt(std::numbers::pi) / 2);
  g.set_dx(0, m.Mul(g.dy(0), slope));
  return g.status();
}
Status NdtriGrad(GradContext& g) {
  const GradMath m(g);
  const Output slope = g.Op("Exp", {m.Mul(m.Square(g.output(0)), 0.5)});
  g.set_dx(0, m.Mul(g.dy(0), m.Mul(slope, std::sqrt(2 * std::numbers::pi))));
  return g.status();
}
Status NextAfterGrad(GradContext& g) {
  const GradMath m(g);
  BroadcastGrads(g, g.input(0), g.input(1), g.dy(0), m.ZerosLike(g.dy(0)));
  return g.status();
}

using WideTypes = Types<float, double>;

UNARY_OP("Erfinv", "T: {bfloat16, half, float, double}")
    .Gradient(ErfinvGrad)
    .CpuFor<Unary<ErfinvFn, WideTypes>>(WideTypes{})
    .Doc("The inverse of the error function.");

UNARY_OP("Ndtri", "T: {bfloat16, half, float, double}")
    .Gradient(NdtriGrad)
    .CpuFor<Unary<NdtriFn, WideTypes>>(WideTypes{})
    .Doc("The value below which a standard normal variable is with probability x.");

OP("NextAfter")
    .Input("x1: T")
    .Input("x2: T")
    .Output("output: T")
    .Attr("T: {double, float} = DT_FLOAT")
    .Shape(BroadcastBinaryShape)
    .Gradient(NextAfterGrad)
    .CpuFor<Binary<NextAfterFn, WideTypes>>(WideTypes{})
    .Doc("The next number that can be represented after x1 in the direction of x2.");

}  // namespace
}  // namespace millstream
