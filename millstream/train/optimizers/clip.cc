// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/clip.h"

namespace millstream {
namespace {

Output ValuesOf(const Grad& t) { return t.IsSparse() ? t.values : t.dense; }
Grad WithValues(const Grad& t, Output values) {
  return t.IsSparse() ? Grad::Slices(values, t.indices, t.dense_shape) : Grad(values);
}

Output Number(const Scope& s, const Hyperparameter& number, const char* name, DType dtype) {
  return CastTo(s, number.ToOutput(s, name), dtype);
}

}  // namespace

Grad ClipByValue(const Scope& scope, const Grad& t, const Hyperparameter& low, const Hyperparameter& high) {
  if (t.IsNone() || !scope.ok()) return {};
  const Scope s = scope.NameScope("clip_by_value");
  const Output values = ValuesOf(t);
  const Output below = s.Op("Minimum", {values, Number(s, high, "Minimum/y", values.dtype())});
  return WithValues(t, s.WithOpName(s.name_prefix()).Op("Maximum", {below, Number(s, low, "y", values.dtype())}));
}

Grad ClipByNorm(const Scope& scope, const Grad& t, const Hyperparameter& clip_norm) {
  if (t.IsNone() || !scope.ok()) return {};
  const Scope s = scope.NameScope("clip_by_norm");
  const Output values = ValuesOf(t);
  // The root of half the sum of squares, which L2Loss gives, twice: no list of axes is needed.
  const Output squares = s.Op("Mul", {s.Op("L2Loss", {values}), s.Const(ScalarOf(values.dtype(), 2))});
  const Output limit = Number(s, clip_norm, "clip_norm", values.dtype());
  const Output norm = s.Op("Maximum", {s.Op("Sqrt", {squares}), limit});
  return WithValues(t, s.WithOpName(s.name_prefix()).Op("RealDiv", {s.Op("Mul", {values, limit}), norm}));
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
  const Output half = s.Op("Sum", {s.WithOpName("stack").Op("Pack", halves), s.Constant({0})});
  return s.WithOpName("global_norm").Op("Sqrt", {s.Op("Mul", {half, s.Const(ScalarOf(half.dtype(), 2))})});
}

std::vector<Grad> ClipByGlobalNorm(const Scope& scope, const std::vector<Grad>& ts, const Hyperparameter& clip_norm,
                                   Output use_norm, Output* norm) {
  const Output all = use_norm ? use_norm : GlobalNorm(scope, ts);
  if (norm != nullptr) *norm = all;
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("clip_by_global_norm");
  const DType dtype = all.dtype();
  const Output one = s.Const(ScalarOf(dtype, 1)), limit = Number(s, clip_norm, "clip_norm", dtype);
  const Output smaller = s.Op("Minimum", {s.Op("RealDiv", {one, all}), s.Op("RealDiv", {one, limit})});
  // The difference is 0, or NaN for a norm that is not finite.
  const Output scale = s.Op("AddV2", {s.Op("Mul", {limit, smaller}), s.Op("Sub", {all, all})});
  std::vector<Grad> clipped;
  for (size_t i = 0; i < ts.size(); ++i) {
    if (ts[i].IsNone()) {
      clipped.emplace_back();
      continue;
    }
    const Output values = ValuesOf(ts[i]);
    const Scope beside = s.ColocateWith(values.node);
    const Output scaled = beside.Op("Mul", {values, CastTo(beside, scale, values.dtype())});
    clipped.push_back(
        WithValues(ts[i], beside.WithOpName(absl::StrCat("clip_by_global_norm_", i)).Op("Identity", {scaled})));
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
