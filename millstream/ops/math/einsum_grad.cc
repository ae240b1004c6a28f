// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/einsum_equation.h"

namespace millstream {

namespace {

using Subscripts = std::string;

bool Has(const Subscripts& s, char label) { return s.find(label) != Subscripts::npos; }

Output Einsum(const GradContext& g, std::vector<Output> inputs, const std::vector<Subscripts>& in,
              const Subscripts& out) {
  std::string equation = EinsumEquation::Spell(in[0]);
  for (size_t i = 1; i < in.size(); ++i) absl::StrAppend(&equation, ",", EinsumEquation::Spell(in[i]));
  absl::StrAppend(&equation, "->", EinsumEquation::Spell(out));
  const auto n = static_cast<int64_t>(inputs.size());
  return g.Op("Einsum", std::move(inputs), {{"equation", equation}, {"N", n}});
}

// Element `at` (from the end if negative) of the vector `shape`.
Output SizeAt(const GradContext& g, Output shape, int at) {
  const Scope& s = g.scope();
  return g.Op("StridedSlice", {shape, s.Constant({at}), s.Constant({at + 1}), s.Constant({1})},
              {{"shrink_axis_mask", 1}, {"end_mask", at == -1 ? 1 : 0}});
}

// Ones of the sizes that `labels` have in x.
Output OnesOf(const GradContext& g, Output x, const Subscripts& subscripts, const Subscripts& labels) {
  const Output shape = g.Op("Shape", {x});
  const size_t dots = subscripts.find(EinsumEquation::kEllipsis);
  std::vector<Output> sizes;
  for (const char l : labels) {
    const size_t at = subscripts.find(l);
    const int axis = at > dots ? static_cast<int>(at) - static_cast<int>(subscripts.size()) : static_cast<int>(at);
    sizes.push_back(SizeAt(g, shape, axis));
  }
  const auto n = static_cast<int64_t>(sizes.size());
  return g.Op("Fill", {g.Op("Pack", std::move(sizes), {{"N", n}}), g.ConstLike(x, 1)});
}

Subscripts Unique(const Subscripts& s) {
  Subscripts result;
  for (const char l : s) {
    if (!Has(result, l)) result.push_back(l);
  }
  return result;
}

// d(out)/d(x), x being the operand with subscripts `in`; `rest` and `others` are the other operand, if any. Labels that
// only x has were summed over: their gradient is the same everywhere.
Output GradFor(const GradContext& g, Output x, const Subscripts& in, std::vector<Output> rest,
               std::vector<Subscripts> others, const Subscripts& out) {
  Subscripts known = out, summed, kept;
  for (const Subscripts& s : others) known += s;
  for (const char l : Unique(in)) (Has(known, l) ? kept : summed).push_back(l);
  rest.insert(rest.begin(), g.grad(0).dense);
  others.insert(others.begin(), out);
  if (summed.empty()) return Einsum(g, std::move(rest), others, in);
  Output partial = rest[0];
  if (rest.size() > 1 || kept != out) partial = Einsum(g, std::move(rest), others, kept);
  return Einsum(g, {partial, OnesOf(g, x, in, summed)}, {kept, summed}, in);
}

// The dimensions of an ellipsis in `shape`, where they begin.
Output EllipsisShape(const GradContext& g, Output shape, const Subscripts& in, int* begin) {
  const Scope& s = g.scope();
  const size_t dots = in.find(EinsumEquation::kEllipsis);
  if (dots == Subscripts::npos) {
    *begin = 0;
    return s.Const(Tensor(DType::kInt32, Shape({0})));
  }
  *begin = static_cast<int>(dots);
  const int after = static_cast<int>(in.size() - dots) - 1;
  return g.Op("StridedSlice", {shape, s.Constant({*begin}), s.Constant({-after}), s.Constant({1})},
              {{"end_mask", after == 0 ? 1 : 0}});
}

// Sums gradients over the dimensions that broadcasting added or repeated.
void Unbroadcast(GradContext& g, const std::vector<Subscripts>& in, Output* da, Output* db) {
  int a_begin = 0, b_begin = 0;
  const Output a_shape = g.Op("Shape", {g.input(0)}), b_shape = g.Op("Shape", {g.input(1)});
  const Output a_dots = EllipsisShape(g, a_shape, in[0], &a_begin);
  const Output b_dots = EllipsisShape(g, b_shape, in[1], &b_begin);
  Node* axes = g.Add("BroadcastGradientArgs", {a_dots, b_dots});
  if (axes == nullptr) return;
  const auto sum = [&](Output x, int output, int begin, Output shape) {
    const Output over = g.Op("AddV2", {Output(axes, output), g.scope().Const<int32_t>(begin)});
    return g.Op("Reshape", {g.Op("Sum", {x, over}), shape});
  };
  *da = sum(*da, 0, a_begin, a_shape);
  *db = sum(*db, 1, b_begin, b_shape);
}

}  // namespace

Status EinsumGrad(GradContext& g) {
  const GradMath m(g);
  ASSIGN_OR_RETURN(const EinsumEquation equation,
                   EinsumEquation::Parse(g.Attr<std::string>("equation"), g.node().num_inputs()));
  const Subscripts& out = equation.output();
  const bool dots = EinsumEquation::HasEllipsis(out);
  std::vector<Subscripts> in = equation.inputs();
  for (Subscripts& s : in) {
    // Without one in the result, an ellipsis stands for no dimensions.
    if (!dots) s.erase(std::remove(s.begin(), s.end(), EinsumEquation::kEllipsis), s.end());
  }
  g.dy(0);
  if (in.size() == 1) {
    g.set_dx(0, GradFor(g, g.input(0), in[0], {}, {}, out));
    return g.status();
  }
  std::vector<Subscripts> full = in;
  for (Subscripts& s : full) {
    if (dots && !EinsumEquation::HasEllipsis(s)) s.insert(s.begin(), EinsumEquation::kEllipsis);
  }
  const Output a = g.input(0), b = g.input(1);
  Output da = GradFor(g, a, full[0], {m.Conj(b)}, {in[1]}, out);
  Output db = GradFor(g, b, full[1], {m.Conj(a)}, {in[0]}, out);
  if (dots) Unbroadcast(g, in, &da, &db);
  g.set_dx(0, da);
  g.set_dx(1, db);
  return g.status();
}

}  // namespace millstream
