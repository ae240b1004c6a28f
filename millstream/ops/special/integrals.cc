// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

// Integrals that have no closed form: Spence's, Dawson's and Fresnel's.
namespace millstream {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// The dilogarithm for -1 <= y <= 1/2: a series in u = -log(1 - y) with Bernoulli's numbers, which converges as
// (u / 2 pi)^(2k).
double Dilogarithm(double y) {
  constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,        -1.0 / 30,      5.0 / 66,
                                   -691.0 / 2730, 7.0 / 6,   -3617.0 / 510.0, 43867.0 / 798.0};
  const double u = -std::log1p(-y), square = u * u;
  double sum = u - square / 4, power = u;  // u^(2k + 1) / (2k + 1)!
  for (int k = 1; k <= 9; ++k) {
    power *= square / ((2 * k) * (2 * k + 1));
    sum += kBernoulli[k - 1] * power;
  }
  return sum;
}

// The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x, brought to where its series is good.
double Spence(double x) {
  if (!(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return kPi * kPi / 6;
  if (x < 0.5) return kPi * kPi / 6 - std::log(x) * std::log1p(-x) - Dilogarithm(x);
  if (x <= 2) return Dilogarithm(1 - x);
  const double log = std::log(x - 1);
  return -kPi * kPi / 6 - log * log / 2 - Dilogarithm(-1 / (x - 1));
}

// exp(-x^2) times the integral of exp(t^2) from 0 to x, by the sampling of Rybicki, "Dawson's Integral and the Sampling
// Theorem" (1989): with steps of h the error is about exp(-(pi / 2h)^2).
double Dawson(double x) {
  constexpr double kStep = 0.2;
  constexpr int kReach = 33;
  const double a = std::fabs(x);
  if (!(a > 0)) return x;
  if (a < 0.1) {
    const double s = x * x;
    return x * (1 - 2.0 / 3 * s * (1 - 2.0 / 5 * s * (1 - 2.0 / 7 * s * (1 - 2.0 / 9 * s * (1 - 2.0 / 11 * s)))));
  }
  if (a > 25) {
    double term = 1 / (2 * x), sum = term;
    for (int k = 1; k < 8; ++k) sum += term *= (2 * k - 1) / (2 * a) / a;
    return sum;
  }
  const double even = 2 * std::nearbyint(a / (2 * kStep)), rest = a - even * kStep;
  double sum = 0;
  for (int k = -kReach; k <= kReach; k += 2) {
    const double d = rest - k * kStep;
    sum += std::exp(-d * d) / (even + k);
  }
  return std::copysign(sum / std::sqrt(kPi), x);
}

// The integrals of cos (real part) and sin (imaginary part) of pi t^2 / 2 from 0 to x >= 0.
std::complex<double> Fresnel(double x) {
  using Complex = std::complex<double>;
  if (x > 1e8) return {0.5, 0.5};
  const double phase = kPi / 2 * x * x;
  if (x < 1.6) {
    // The terms of exp(i phase), integrated.
    Complex term(x, 0), sum = term;
    for (int n = 1; n < 60 && std::abs(term) > kEpsilon / 16 * std::abs(sum); ++n) {
      term *= Complex(0, phase / n);
      sum += term / static_cast<double>(2 * n + 1);
    }
    return sum;
  }
  // Both are parts of an error function, whose rest has a continued fraction; evaluated as by Lentz.
  constexpr double kTiny = 1e-300;
  Complex b(1, -2 * phase), c(1 / kTiny, 0), d = 1.0 / b, h = d;
  for (int k = 1; k < 500; ++k) {
    const double a = -(2.0 * k - 1) * (2.0 * k);
    b += 4;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const Complex factor = c * d;
    h *= factor;
    if (std::fabs(factor.real() - 1) + std::fabs(factor.imag()) < kEpsilon) break;
  }
  const Complex rest = Complex(std::cos(phase), std::sin(phase)) * (h * Complex(x, -x));
  return Complex(0.5, 0.5) * (1.0 - rest);
}
double FresnelCos(double x) { return std::isnan(x) ? x : std::copysign(Fresnel(std::fabs(x)).real(), x); }
double FresnelSin(double x) { return std::isnan(x) ? x : std::copysign(Fresnel(std::fabs(x)).imag(), x); }

template <double (*fn)(double)>
struct SlowFn {
  static constexpr double kCost = 100;
  static constexpr bool kLibm = true;
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(fn(static_cast<double>(x)));
  }
};

Status SpenceGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), one = g.ConstLike(x, 1);
  const Output slope = m.Div(g.Op("Log", {x}), m.Sub(1.0, x));
  g.set_dx(0, m.Mul(g.dy(0), g.Op("SelectV2", {g.Op("Equal", {x, one}), g.ConstLike(x, -1), slope})));
  return g.status();
}

Status DawsonGrad(GradContext& g) {
  const GradMath m(g);
  const Output twice = m.Mul(g.ConstLike(g.input(0), 2), m.Mul(g.input(0), g.output(0)));
  g.set_dx(0, m.Mul(g.dy(0), m.Sub(1.0, twice)));
  return g.status();
}

Status PhaseGrad(GradContext& g, const char* function) {
  const GradMath m(g);
  const Output phase = m.Mul(g.ConstLike(g.input(0), kPi / 2), g.Op("Square", {g.input(0)}));
  g.set_dx(0, m.Mul(g.dy(0), g.Op(function, {phase})));
  return g.status();
}
Status FresnelCosGrad(GradContext& g) { return PhaseGrad(g, "Cos"); }
Status FresnelSinGrad(GradContext& g) { return PhaseGrad(g, "Sin"); }

#define INTEGRAL(Name, fn, doc)                                                \
  UNARY_OP(Name, "T: {bfloat16, half, float, double}")                         \
      .Gradient(fn##Grad)                                                      \
      .CpuFor<Unary<SlowFn<fn>, Types<float, double>>>(Types<float, double>{}) \
      .Doc(doc)

INTEGRAL("Spence", Spence, "The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x.");
INTEGRAL("Dawsn", Dawson, "exp(-x^2) times the integral of exp(t^2) from 0 to x.");
INTEGRAL("FresnelCos", FresnelCos, "The integral of cos(pi t^2 / 2) from 0 to x.");
INTEGRAL("FresnelSin", FresnelSin, "The integral of sin(pi t^2 / 2) from 0 to x.");
#undef INTEGRAL

}  // namespace
}  // namespace millstream
