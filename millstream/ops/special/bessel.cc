// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLarge = 500;  // where the asymptotic series is exact, and exponentials still fit

// Hankel's series for large x: 1 -+ (m - 1) / (8 x) + (m - 1)(m - 9) / (2! (8 x)^2) ..., m = 4 order^2.
double Hankel(int order, double x, double sign) {
  const double m = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 12; ++k) {
    term *= sign * (m - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x);
    sum += term;
  }
  return sum;
}

double ScaledI(int order, double x) {
  const double size = std::fabs(x), odd = order == 1 && x < 0 ? -1 : 1;
  if (std::isnan(x)) return kNan;
  if (size > kLarge) return odd * Hankel(order, size, -1) / std::sqrt(2 * std::numbers::pi * size);
  return odd * std::exp(-size) * std::cyl_bessel_i(order, size);
}
double ScaledK(int order, double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInfinity;
  if (x > kLarge) return Hankel(order, x, 1) * std::sqrt(std::numbers::pi / (2 * x));
  return std::exp(x) * std::cyl_bessel_k(order, x);
}

double I0e(double x) { return ScaledI(0, x); }
double I1e(double x) { return ScaledI(1, x); }
double I0(double x) { return ScaledI(0, x) * std::exp(std::fabs(x)); }
double I1(double x) { return ScaledI(1, x) * std::exp(std::fabs(x)); }
double K0e(double x) { return ScaledK(0, x); }
double K1e(double x) { return ScaledK(1, x); }
double K0(double x) { return ScaledK(0, x) * std::exp(-x); }
double K1(double x) { return ScaledK(1, x) * std::exp(-x); }
double J0(double x) { return ::j0(x); }
double J1(double x) { return ::j1(x); }
double Y0(double x) { return x < 0 ? kNan : x == 0 ? -kInfinity : ::y0(x); }
double Y1(double x) { return x < 0 ? kNan : x == 0 ? -kInfinity : ::y1(x); }
double Expint(double x) { return !(x >= 0) ? kNan : x == 0 ? -kInfinity : std::expint(x); }

template <double (*fn)(double)>
struct SlowFn {
  static constexpr double kCost = 100;
  static constexpr bool kLibm = true;
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(fn(x));
  }
};

// dy * slope, for slopes of the forms that these functions have.
class BesselGrad : public GradMath {
 public:
  explicit BesselGrad(GradContext& g) : GradMath(g), g_(g), x(g.input(0)), y(g.output(0)) {}
  Output Of(const char* op) const { return g_.Op(op, {x}); }
  Output Over() const { return Div(y, x); }
  Output Sign() const { return g_.Op("Sign", {x}); }
  // `slope`, but `at_zero` where x is 0.
  Output AtZero(Output slope, double at_zero) const {
    const Output zero = g_.Op("Equal", {x, g_.ConstLike(x, 0)});
    return g_.Op("SelectV2", {zero, g_.ConstLike(x, at_zero), slope});
  }
  Status Set(Output slope) const {
    g_.set_dx(0, Mul(g_.dy(0), slope));
    return g_.status();
  }

 private:
  GradContext& g_;

 public:
  const Output x, y;
};

Status I0Grad(GradContext& g) { return BesselGrad(g).Set(BesselGrad(g).Of("BesselI1")); }
Status I0eGrad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.Sub(b.Of("BesselI1e"), b.Mul(b.Sign(), b.y)));
}
// TensorFlow has 1 at 0.
Status I1Grad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.AtZero(b.Sub(b.Of("BesselI0"), b.Over()), 1));
}
Status I1eGrad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.AtZero(b.Sub(b.Of("BesselI0e"), b.Mul(b.y, b.Add(b.Sign(), b.Inverse(b.x)))), 0.5));
}
Status K0Grad(GradContext& g) { return BesselGrad(g).Set(BesselGrad(g).Neg(BesselGrad(g).Of("BesselK1"))); }
Status K0eGrad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.Sub(b.y, b.Of("BesselK1e")));
}
Status K1Grad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.Neg(b.Add(b.Of("BesselK0"), b.Over())));
}
Status K1eGrad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.Sub(b.Mul(b.y, b.Sub(1.0, b.Inverse(b.x))), b.Of("BesselK0e")));
}
Status J0Grad(GradContext& g) { return BesselGrad(g).Set(BesselGrad(g).Neg(BesselGrad(g).Of("BesselJ1"))); }
Status J1Grad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.AtZero(b.Sub(b.Of("BesselJ0"), b.Over()), 0.5));
}
Status Y0Grad(GradContext& g) { return BesselGrad(g).Set(BesselGrad(g).Neg(BesselGrad(g).Of("BesselY1"))); }
Status Y1Grad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.Sub(b.Of("BesselY0"), b.Over()));
}
Status ExpintGrad(GradContext& g) {
  const BesselGrad b(g);
  return b.Set(b.Div(g.Op("Exp", {b.x}), b.x));
}

#define SPECIAL(Name, fn, doc)                             \
  UNARY_OP(Name, "T: {bfloat16, half, float, double}")     \
      .Gradient(fn##Grad)                                  \
      .CpuFor<Unary<SlowFn<fn>, FloatTypes>>(FloatTypes{}) \
      .Doc(doc)

SPECIAL("BesselI0", I0, "The modified Bessel function of the first kind, order 0.");
SPECIAL("BesselI1", I1, "The modified Bessel function of the first kind, order 1.");
SPECIAL("BesselI0e", I0e, "BesselI0 times exp(-|x|).");
SPECIAL("BesselI1e", I1e, "BesselI1 times exp(-|x|).");
SPECIAL("BesselK0", K0, "The modified Bessel function of the second kind, order 0.");
SPECIAL("BesselK1", K1, "The modified Bessel function of the second kind, order 1.");
SPECIAL("BesselK0e", K0e, "BesselK0 times exp(x).");
SPECIAL("BesselK1e", K1e, "BesselK1 times exp(x).");
SPECIAL("BesselJ0", J0, "The Bessel function of the first kind, order 0.");
SPECIAL("BesselJ1", J1, "The Bessel function of the first kind, order 1.");
SPECIAL("BesselY0", Y0, "The Bessel function of the second kind, order 0.");
SPECIAL("BesselY1", Y1, "The Bessel function of the second kind, order 1.");
SPECIAL("Expint", Expint, "The exponential integral Ei.");
#undef SPECIAL

}  // namespace
}  // namespace millstream
