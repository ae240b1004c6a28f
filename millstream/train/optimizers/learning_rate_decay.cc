// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/learning_rate_decay.h"

#include <algorithm>
#include <cmath>

namespace millstream {
namespace {

// Arithmetic on scalars of the learning rate's type, within one name scope.
class Formula {
 public:
  Formula(const Scope& scope, const char* name, const Hyperparameter& learning_rate, Output step)
      : s_(scope.NameScope(name)), rate_(learning_rate.ToOutput(s_, "learning_rate")) {
    if (!step) s_.Fail(errors::InvalidArgument("A learning rate that decays needs the global step: ", name));
    if (!s_.ok()) return;
    dtype_ = rate_.dtype();
    step_ = CastTo(s_, step, dtype_);
  }

  bool ok() const { return s_.ok(); }
  Output rate() const { return rate_; }
  Output step() const { return step_; }
  Output Number(const Hyperparameter& h) const { return CastTo(s_, h.ToOutput(s_, "Const"), dtype_); }
  Output Op(const char* type, Output a) const { return s_.Op(type, {a}); }
  Output Op(const char* type, Output a, Output b) const { return s_.Op(type, {a, b}); }
  Output Op(const char* type, double a, Output b) const { return s_.Op(type, {Number(a), b}); }
  Output Op(const char* type, Output a, double b) const { return s_.Op(type, {a, Number(b)}); }
  Output Choose(Output condition, Output then, Output otherwise) const {
    return s_.Op("Select", {condition, then, otherwise});
  }
  // The last op of the formula, which is named as the scope is.
  Output Result(const char* type, Output a, Output b) const { return s_.WithOpName(s_.name_prefix()).Op(type, {a, b}); }

  // step / decay_steps, rounded down for a staircase.
  Output Periods(const Hyperparameter& decay_steps, bool staircase) const {
    const Output p = Op("RealDiv", step_, Number(decay_steps));
    return staircase ? Op("Floor", p) : p;
  }
  // (1 + cos(angle * fraction)) / 2.
  Output Cosine(double angle, Output fraction) const {
    return Op("Mul", 0.5, Op("AddV2", 1.0, Op("Cos", Op("Mul", angle, fraction))));
  }

 private:
  Scope s_;
  Output rate_, step_;
  DType dtype_ = DType::kFloat;
};

}  // namespace

Output ExponentialDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                        const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase) {
  const Formula f(scope, "ExponentialDecay", learning_rate, step);
  if (!f.ok()) return {};
  return f.Result("Mul", f.rate(), f.Op("Pow", f.Number(decay_rate), f.Periods(decay_steps, staircase)));
}

Output NaturalExpDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                       const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase) {
  const Formula f(scope, "NaturalExpDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output exponent = f.Op("Mul", f.Op("Neg", f.Number(decay_rate)), f.Periods(decay_steps, staircase));
  return f.Result("Mul", f.rate(), f.Op("Exp", exponent));
}

Output InverseTimeDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                        const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase) {
  const Formula f(scope, "InverseTimeDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output growth = f.Op("Mul", f.Number(decay_rate), f.Periods(decay_steps, staircase));
  return f.Result("RealDiv", f.rate(), f.Op("AddV2", 1.0, growth));
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
  Output result = values.back().ToOutput(s, "Const");
  for (size_t i = boundaries.size(); i-- > 0;) {
    const Output before = s.Op("LessEqual", {step, s.Const(ScalarOf(step.dtype(), boundaries[i]))});
    result = s.Op("Select", {before, values[i].ToOutput(s, "Const"), result});
  }
  return s.WithOpName(s.name_prefix()).Op("Identity", {result});
}

Output PolynomialDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                       const Hyperparameter& decay_steps, const PolynomialDecayOptions& options) {
  const Formula f(scope, "PolynomialDecay", learning_rate, step);
  if (!f.ok()) return {};
  Output now = f.step(), steps = f.Number(decay_steps);
  const Output end = f.Number(options.end_learning_rate);
  if (options.cycle) {
    const Output turns = f.Choose(f.Op("Equal", now, 0.0), f.Number(1.0), f.Op("Ceil", f.Op("RealDiv", now, steps)));
    steps = f.Op("Mul", steps, turns);
  } else {
    now = f.Op("Minimum", now, steps);
  }
  const Output left = f.Op("Sub", 1.0, f.Op("RealDiv", now, steps));
  return f.Result("AddV2", f.Op("Mul", f.Op("Sub", f.rate(), end), f.Op("Pow", left, options.power)), end);
}

Output CosineDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                   const Hyperparameter& decay_steps, double alpha) {
  const Formula f(scope, "CosineDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output steps = f.Number(decay_steps);
  const Output done = f.Op("RealDiv", f.Op("Minimum", f.step(), steps), steps);
  const Output factor = f.Op("AddV2", f.Op("Mul", 1 - alpha, f.Cosine(M_PI, done)), alpha);
  return f.Result("Mul", f.rate(), factor);
}

Output CosineDecayRestarts(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                           const Hyperparameter& first_decay_steps, const CosineRestarts& options) {
  const Formula f(scope, "SGDRDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output done = f.Periods(first_decay_steps, false);
  const double t = options.t_mul;
  Output turn, fraction;
  if (t == 1) {
    turn = f.Op("Floor", done);
    fraction = f.Op("Sub", done, turn);
  } else {
    // Period k begins after (1 - t^k) / (1 - t) first periods.
    turn = f.Op("Floor",
                f.Op("RealDiv", f.Op("Log", f.Op("Sub", 1.0, f.Op("Mul", done, 1 - t))), f.Op("Log", f.Number(t))));
    const Output length = f.Op("Pow", t, turn);
    const Output before = f.Op("RealDiv", f.Op("Sub", 1.0, length), 1 - t);
    fraction = f.Op("RealDiv", f.Op("Sub", done, before), length);
  }
  const Output height = f.Op("Mul", 1 - options.alpha, f.Op("Pow", options.m_mul, turn));
  return f.Result("Mul", f.rate(), f.Op("AddV2", f.Op("Mul", height, f.Cosine(M_PI, fraction)), options.alpha));
}

Output LinearCosineDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                         const Hyperparameter& decay_steps, const LinearCosine& options) {
  const Formula f(scope, "LinearCosineDecay", learning_rate, step);
  if (!f.ok()) return {};
  const Output steps = f.Number(decay_steps);
  const Output now = f.Op("Minimum", f.step(), steps);
  const Output linear = f.Op("AddV2", options.alpha, f.Op("RealDiv", f.Op("Sub", steps, now), steps));
  const Output cosine = f.Cosine(2 * M_PI * options.num_periods, f.Op("RealDiv", now, steps));
  return f.Result("Mul", f.rate(), f.Op("AddV2", f.Op("Mul", linear, cosine), options.beta));
}

Output LinearWarmup(const Scope& scope, const Hyperparameter& learning_rate, Output step, int64_t warmup_steps,
                    double scale) {
  const Formula f(scope, "LinearWarmup", learning_rate, step);
  if (!f.ok()) return {};
  const Output steps = f.Number(static_cast<double>(std::max<int64_t>(warmup_steps, 1)));
  const Output done = f.Op("RealDiv", f.Op("Minimum", f.step(), steps), steps);
  return f.Result("Mul", f.rate(), f.Op("AddV2", 1.0, f.Op("Mul", done, scale - 1)));
}

}  // namespace millstream
