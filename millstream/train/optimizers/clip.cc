// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/clip.h"

#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

Output ValuesOf(const Grad& t) { return t.IsSparse() ? t.values : t.dense; }
Grad WithValues(const Grad& t, Output values) {
  return t.IsSparse() ? Grad::Slices(values, t.indices, t.dense_shape) : Grad(values);
}

// The limit as an operand of `type`: a number, or a tensor.
Operand Limit(const Scope& s, const Hyperparameter& number, DType dtype) {
  return number.is_tensor() ? Operand(CastTo(s, number.ToOutput(s, ""), dtype)) : Operand(number.value());
}

}  // namespace

Grad ClipByValue(const Scope& scope, const Grad& t, const Hyperparameter& low, const Hyperparameter& high) {
  if (t.IsNone() || !scope.ok()) return {};
  const Scope s = scope.NameScope("clip_by_value");
  const Output values = ValuesOf(t);
  const Output below = OpNamed(s, "", "Minimum", {values, Limit(s, high, values.dtype())});
  return WithValues(t, OpNamed(s, s.name_prefix(), "Maximum", {below, Limit(s, low, values.dtype())}));
}

Output ClipByNormAlong(const Scope& scope, Output values, const Hyperparameter& clip_norm,
                       const std::vector<int32_t>* axes) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("clip_by_norm");
  const Output squares = Mul(s, values, values);
  const Output sum = axes == nullptr ? ReduceAll(s, "Sum", squares, true) : Reduce(s, "Sum", squares, *axes, true);
  // The root of 0 has no gradient.
  const Output positive = OpNamed(s, "", "Greater", {sum, 0});
  const Output safe = s.Op("Select", {positive, sum, OnesLike(s, sum)});
  const Output norm = s.Op("Select", {positive, s.Op("Sqrt", {safe}), sum});
  const Operand limit = Limit(s, clip_norm, values.dtype());
  const Output scaled = Mul(s, values, limit);
  const Output divisor = OpNamed(s, "", "Maximum", {norm, limit});
  return s.WithOpName(s.name_prefix()).Op("Identity", {Div(s, scaled, divisor)});
}

Grad ClipByNorm(const Scope& scope, const Grad& t, const Hyperparameter& clip_norm) {
  if (t.IsNone() || !scope.ok()) return {};
  return WithValues(t, ClipByNormAlong(scope, ValuesOf(t), clip_norm, nullptr));
}

Output GlobalNorm(const Scope& scope, const std::vector<Grad>& ts) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("global_norm");
  std::vector<Output> halves;
  for (const Grad& t : ts) {
    if (!t.IsNone()) halves.push_back(s.ColocateWith(ValuesOf(t).node).Op("L2Loss", {ValuesOf(t)}));
  }
  if (halves.empty() && s.ok()) s.Fail(errors::InvalidArgument("There are no gradients to take the norm of"));
  if (!s.ok()) return {};
  const Output half = operators::ReduceAll(s, "Sum", s.WithOpName("stack").Op("Pack", halves));
  const Output two = s.Const(ScalarOf(half.dtype(), 2));
  return s.WithOpName("global_norm").Op("Sqrt", {operators::Mul(s, half, two)});
}

std::vector<Grad> ClipByGlobalNorm(const Scope& scope, const std::vector<Grad>& ts, const Hyperparameter& clip_norm,
                                   Output use_norm, Output* norm) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const Output all = use_norm ? use_norm : GlobalNorm(scope, ts);
  if (norm != nullptr) *norm = all;
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("clip_by_global_norm");
  const Operand limit = Limit(s, clip_norm, all.dtype());
  const Output inverse = Div(s, 1.0, all), one = s.Const(ScalarOf(all.dtype(), 1));
  const Output smaller = s.Op("Minimum", {inverse, Div(s, one, limit)});
  const Output factor = Mul(s, limit, smaller);
  // The difference is 0, or NaN for a norm that is not finite.
  const Output scale = Add(s, factor, Sub(s, all, all));
  std::vector<Grad> clipped;
  for (size_t i = 0; i < ts.size() && s.ok(); ++i) {
    if (ts[i].IsNone()) {
      clipped.emplace_back();
      continue;
    }
    const Output values = ValuesOf(ts[i]);
    const Scope beside = s.ColocateWith(values.node);
    const Output scaled = Mul(beside, values, CastTo(beside, scale, values.dtype()));
    const std::string name = absl::StrCat(s.name_prefix(), "_", i);  // in the scope, as tf.clip_by_global_norm() has it
    clipped.push_back(WithValues(ts[i], beside.WithOpName(name).Op("Identity", {scaled})));
  }
  return clipped;
}

std::vector<GradientAndVariable> ClipByGlobalNorm(const Scope& scope, std::vector<GradientAndVariable> gradients,
                                                  const Hyperparameter& clip_norm, Output* norm) {
  std::vector<Grad> ts;
  for (const GradientAndVariable& g : gradients) ts.push_back(g.gradient);
  const std::vector<Grad> clipped = ClipByGlobalNorm(scope, ts, clip_norm, {}, norm);
  if (!scope.ok()) return {};
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i].gradient = clipped[i];
  return gradients;
}

}  // namespace millstream
