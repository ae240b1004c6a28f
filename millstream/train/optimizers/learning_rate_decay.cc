// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/learning_rate_decay.h"

#include <algorithm>
#include <cmath>

#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

using operators::Add;
using operators::Div;
using operators::Mul;
using operators::Sub;

// What all formulas begin with, within one name scope: numbers of the learning rate's type.
struct Formula {
  Formula(const Scope& scope, const char* name, const Hyperparameter& learning_rate, Output global_step)
      : s(scope.NameScope(name)), rate(learning_rate.ToOutput(s, "learning_rate")), step_(global_step) {
    if (!global_step) s.Fail(errors::InvalidArgument("A learning rate that decays needs the global step: ", name));
  }

  bool ok() const { return s.ok(); }
  Output Number(const Hyperparameter& h) const { return CastTo(s, h.ToOutput(s, "Const"), rate.dtype()); }
  Output Step() const { return CastTo(s, step_, rate.dtype()); }
  // The last op of the formula, which is named as the scope is.
  Output Result(const char* type, Output a, Output b) const { return s.WithOpName(s.name_prefix()).Op(type, {a, b}); }

  // step / decay_steps, rounded down for a staircase.
  Output Periods(const Hyperparameter& decay_steps, bool staircase) const {
    const Output step = Step();
    const Output p = Div(s, step, Number(decay_steps));
    return staircase ? s.Op("Floor", {p}) : p;
  }
  // (1 + cos(angle * fraction)) / 2.
  Output Cosine(double angle, Output fraction) const {
    return Mul(s, 0.5, Add(s, 1.0, s.Op("Cos", {Mul(s, Number(angle), fraction)})));
  }

  const Scope s;
  const Output rate;

 private:
  const Output step_;
};

}  // namespace

Output ExponentialDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                        const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase) {
  const Formula f(scope, "ExponentialDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output periods = f.Periods(decay_steps, staircase);
  return f.Result("Mul", f.rate, f.s.Op("Pow", {f.Number(decay_rate), periods}));
}

Output NaturalExpDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                       const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase) {
  const Formula f(scope, "NaturalExpDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output periods = f.Periods(decay_steps, staircase);
  const Output exponent = Mul(f.s, f.s.Op("Neg", {f.Number(decay_rate)}), periods);
  return f.Result("Mul", f.rate, f.s.Op("Exp", {exponent}));
}

Output InverseTimeDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                        const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase) {
  const Formula f(scope, "InverseTimeDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output periods = f.Periods(decay_steps, staircase);
  const Output one = f.Number(1.0);
  return f.Result("RealDiv", f.rate, Add(f.s, one, Mul(f.s, f.Number(decay_rate), periods)));
}

Output PiecewiseConstant(const Scope& scope, Output step, const std::vector<double>& boundaries,
                         const std::vector<Hyperparameter>& values) {
  if (boundaries.size() + 1 != values.size()) {
    scope.Fail(errors::InvalidArgument("The length of boundaries should be 1 less than the length of values"));
  }
  if (!step)
    scope.Fail(errors::InvalidArgument("A learning rate that decays needs the global step: PiecewiseConstant"));
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("PiecewiseConstant");
  std::vector<Output> limits, levels;
  for (double boundary : boundaries) limits.push_back(s.Const(ScalarOf(step.dtype(), boundary)));
  for (const Hyperparameter& value : values) levels.push_back(value.ToOutput(s, "Const"));
  Output result = levels.back();
  for (size_t i = boundaries.size(); i-- > 0;) {
    result = s.Op("Select", {s.Op("LessEqual", {step, limits[i]}), levels[i], result});
  }
  return s.WithOpName(s.name_prefix()).Op("Identity", {result});
}

Output PolynomialDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                       const Hyperparameter& decay_steps, const PolynomialDecayOptions& options) {
  const Formula f(scope, "PolynomialDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Scope& s = f.s;
  const Output end = f.Number(options.end_learning_rate), power = f.Number(options.power);
  Output now = f.Step(), steps = f.Number(decay_steps);
  if (options.cycle) {
    const Output start = s.Op("Equal", {now, f.Number(0)}), once = f.Number(1.0);
    steps = s.Op("Mul", {steps, s.Op("Select", {start, once, s.Op("Ceil", {Div(s, now, steps)})})});
  } else {
    now = s.Op("Minimum", {now, steps});
  }
  const Output done = s.Op("Div", {now, steps}), range = Sub(s, f.rate, end);
  return f.Result("AddV2", s.Op("Mul", {range, s.Op("Pow", {Sub(s, 1, done), power})}), end);
}

Output CosineDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                   const Hyperparameter& decay_steps, double alpha) {
  const Formula f(scope, "CosineDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output steps = f.Number(decay_steps);
  const Output done = Div(f.s, f.s.Op("Minimum", {f.Step(), steps}), steps);
  const Output factor = Mul(f.s, 1 - alpha, f.Cosine(M_PI, done));
  return f.s.Op("Mul", {f.rate, Add(f.s, factor, alpha)});
}

Output CosineDecayRestarts(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                           const Hyperparameter& first_decay_steps, const CosineRestarts& options) {
  const Formula f(scope, "SGDRDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Scope& s = f.s;
  const Output done = f.Periods(first_decay_steps, false), t = f.Number(options.t_mul);
  Output turn, fraction;
  if (options.t_mul == 1) {
    turn = s.Op("Floor", {done});
    fraction = Sub(s, done, turn);
  } else {
    // Period k begins after (1 - t^k) / (1 - t) first periods.
    const Output reached = s.Op("Log", {Sub(s, 1.0, Mul(s, done, Sub(s, 1.0, t)))});
    turn = s.Op("Floor", {Div(s, reached, s.Op("Log", {t}))});
    const Output sum = Sub(s, 1.0, s.Op("Pow", {t, turn}));
    const Output before = Div(s, sum, Sub(s, 1.0, t));
    const Output since = Sub(s, done, before);
    fraction = Div(s, since, s.Op("Pow", {t, turn}));
  }
  const Output height = Mul(s, 1 - options.alpha, s.Op("Pow", {f.Number(options.m_mul), turn}));
  return f.Result("Mul", f.rate, Add(s, Mul(s, height, f.Cosine(M_PI, fraction)), options.alpha));
}

Output LinearCosineDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                         const Hyperparameter& decay_steps, const LinearCosine& options) {
  const Formula f(scope, "LinearCosineDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Scope& s = f.s;
  const Output steps = f.Number(decay_steps), now = s.Op("Minimum", {f.Step(), steps});
  const Output linear = Div(s, Sub(s, steps, now), steps);
  const Output angle = f.Number(M_PI * 2.0 * options.num_periods);
  const Output cosine = Mul(s, 0.5, Add(s, 1.0, s.Op("Cos", {Mul(s, angle, Div(s, now, steps))})));
  return f.Result("Mul", f.rate, Add(s, Mul(s, Add(s, options.alpha, linear), cosine), options.beta));
}

Output LinearWarmup(const Scope& scope, const Hyperparameter& learning_rate, Output step, int64_t warmup_steps,
                    double scale) {
  const Formula f(scope, "LinearWarmup", learning_rate, step);
  if (!f.ok()) return {};
  const Output steps = f.Number(static_cast<double>(std::max<int64_t>(warmup_steps, 1)));
  const Output done = Div(f.s, f.s.Op("Minimum", {f.Step(), steps}), steps);
  return f.Result("Mul", f.rate, Add(f.s, 1.0, Mul(f.s, done, Sub(f.s, f.Number(scale), 1.0))));
}

}  // namespace millstream
