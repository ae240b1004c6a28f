// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = 1e-16;
constexpr int kMaxTerms = 10000;

double LogGamma(double x) {
  int sign = 0;  // std::lgamma writes a global variable
  return lgamma_r(x, &sign);
}

// x^a exp(-x) / gamma(a)
double Front(double a, double x) { return std::exp(a * std::log(x) - x - LogGamma(a)); }

double LowerSeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMaxTerms && std::fabs(term) > kEpsilon * std::fabs(sum); ++n) sum += term *= x / (a + n);
  return sum * Front(a, x);
}

// Lentz's method for the continued fraction.
double UpperFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < kMaxTerms; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
    c = b + an / c;
    c = std::fabs(c) < kTiny ? kTiny : c;
    h *= d * c;
    if (std::fabs(d * c - 1) < kEpsilon) break;
  }
  return h * Front(a, x);
}

double Igamma(double a, double x) {
  if (!(x >= 0) || !(a > 0)) return kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? LowerSeries(a, x) : 1 - UpperFraction(a, x);
}
double Igammac(double a, double x) {
  if (!(x >= 0) || !(a > 0)) return kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - LowerSeries(a, x) : UpperFraction(a, x);
}

// By central differences, extrapolated; of the smaller tail, which has more digits.
double IgammaGradA(double a, double x) {
  if (!(x >= 0) || !(a > 0)) return kNan;
  if (x == 0) return 0;
  const bool lower = x < a + 1;
  const auto tail = [&](double v) { return lower ? Igamma(v, x) : -Igammac(v, x); };
  const double h = 1e-2 * a;
  double d[4];
  for (int k = 0; k < 4; ++k) {
    const double step = h / (1 << k);
    d[k] = (tail(a + step) - tail(a - step)) / (2 * step);
  }
  for (int order = 1; order < 4; ++order) {
    const double factor = std::pow(4.0, order);
    for (int k = 3; k >= order; --k) d[k] = (factor * d[k] - d[k - 1]) / (factor - 1);
  }
  return d[3];
}

// How the value of the gamma distribution that has a given probability moves with a: from Igamma(a, x) = constant.
double GammaSampleGrad(double a, double x) {
  if (!(x >= 0) || !(a > 0)) return kNan;
  const double density = Front(a, x);  // times x
  return x == 0 || density == 0 ? 0 : -IgammaGradA(a, x) * x / density;
}

double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto safe = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / safe(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + even * d);
    c = safe(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + odd * d);
    c = safe(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < kEpsilon) break;
  }
  return h;
}

double Betainc(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return kNan;
  if (x == 0 || x == 1) return x;
  const double front = std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * BetaFraction(a, b, x) / a : 1 - front * BetaFraction(b, a, 1 - x) / b;
}

template <double (*fn)(double, double)>
struct SlowFn {
  static constexpr double kCost = 200;
  static constexpr bool kLibm = true;
  template <typename T>
  T operator()(T a, T x) const {
    return static_cast<T>(fn(a, x));
  }
};

template <typename T>
class BetaincKernel : public Kernel {
 public:
  explicit BetaincKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    Shape shape;
    for (int i = 0; i < 3; ++i) {
      const Shape& in = ctx.input(i).shape();
      if (in.IsScalar()) continue;
      if (!shape.IsScalar() && !(shape == in)) {
        return errors::InvalidArgument("Shapes of a, b and x are inconsistent: ", shape.ToString(), " vs. ",
                                       in.ToString());
      }
      shape = in;
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const auto at = [&](int i, int64_t k) {
      const Tensor& t = ctx.input(i);
      return static_cast<double>(t.data<T>()[t.shape().IsScalar() ? 0 : k]);
    };
    ctx.ParallelFor(shape.num_elements(), 300, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) out->data<T>()[k] = static_cast<T>(Betainc(at(0, k), at(1, k), at(2, k)));
    });
    return OkStatus();
  }
};

Status BetaincShape(ShapeContext& c) {
  PartialShape out = Shape();
  bool unknown = false;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& in = c.input(i);
    unknown |= !in.rank_known();
    if (in.rank() <= 0) continue;
    if (out.rank() == 0) out = in;
    ASSIGN_OR_RETURN(out, out.MergeWith(in));
  }
  if (unknown && out.rank() == 0) out = PartialShape();
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status GammaGrad(GradContext& g, double sign) {
  const GradMath m(g);
  const Output a = g.input(0), x = g.input(1), dy = g.dy(0);
  const Output log = m.Sub(m.Mul(m.Sub(a, g.ConstLike(a, 1)), g.Op("Log", {x})), m.Add(x, g.Op("Lgamma", {a})));
  const Output by_x = m.Mul(g.Op("Exp", {log}), dy), by_a = m.Mul(g.Op("IgammaGradA", {a, x}), dy);
  BroadcastGrads(g, a, x, sign > 0 ? by_a : m.Neg(by_a), sign > 0 ? by_x : m.Neg(by_x));
  return g.status();
}
Status IgammaGradient(GradContext& g) { return GammaGrad(g, 1); }
Status IgammacGradient(GradContext& g) { return GammaGrad(g, -1); }

// In x alone.
Status BetaincGradient(GradContext& g) {
  const GradMath m(g);
  const Output a = g.input(0), b = g.input(1), x = g.input(2);
  const auto lgamma = [&](Output v) { return g.Op("Lgamma", {v}); };
  const Output beta = m.Sub(m.Add(lgamma(a), lgamma(b)), lgamma(m.Add(a, b)));
  const Output log = m.Add(m.Mul(m.Sub(b, g.ConstLike(b, 1)), g.Op("Log1p", {m.Neg(x)})),
                           g.Op("Xlogy", {m.Sub(a, g.ConstLike(a, 1)), x}));
  const Output slope = m.Mul(g.Op("Exp", {m.Sub(log, beta)}), g.dy(0));
  g.set_dx(2, SumToShapeOf(g.scope(), x, g.output(0), slope));
  return g.status();
}

using WideTypes = Types<float, double>;
using GammaTypes = Types<float, double, Half, BFloat16>;

OP("Igamma")
    .Input("a: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Shape(BroadcastBinaryShape)
    .Gradient(IgammaGradient)
    .CpuFor<Binary<SlowFn<Igamma>, GammaTypes>>(GammaTypes{})
    .Doc("The lower regularized incomplete gamma function.");

OP("Igammac")
    .Input("a: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Shape(BroadcastBinaryShape)
    .Gradient(IgammacGradient)
    .CpuFor<Binary<SlowFn<Igammac>, GammaTypes>>(GammaTypes{})
    .Doc("The upper regularized incomplete gamma function.");

OP("RandomGammaGrad")
    .Input("alpha: T")
    .Input("sample: T")
    .Output("output: T")
    .Attr("T: {float, double}")
    .Shape(BroadcastBinaryShape)
    .CpuFor<Binary<SlowFn<GammaSampleGrad>, WideTypes>>(WideTypes{})
    .Doc("The derivative of samples of the gamma distribution in its parameter.");

OP("IgammaGradA")
    .Input("a: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Shape(BroadcastBinaryShape)
    .CpuFor<Binary<SlowFn<IgammaGradA>, WideTypes>>(WideTypes{})
    .Doc("The derivative of Igamma by a.");

OP("Betainc")
    .Input("a: T")
    .Input("b: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {float, double}")
    .Shape(BetaincShape)
    .Gradient(BetaincGradient)
    .Cpu<BetaincKernel>(WideTypes{})
    .Doc("The regularized incomplete beta function.");

}  // namespace
}  // namespace millstream
