// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/graph/gradients/gradient_builder.h"

namespace millstream {
namespace {

Grad SumSlices(const Scope& scope, const std::vector<Grad>& grads) {
  std::vector<Output> values, indices;
  const DType index_type = grads[0].indices.dtype();
  const bool mixed =
      std::any_of(grads.begin(), grads.end(), [&](const Grad& g) { return g.indices.dtype() != index_type; });
  for (const Grad& g : grads) {
    values.push_back(g.values);
    indices.push_back(mixed && g.indices.dtype() != DType::kInt64
                          ? scope.Op("Cast", {g.indices}, {{"DstT", DType::kInt64}})
                          : g.indices);
  }
  const Output axis = scope.Const<int32_t>(0);
  values.push_back(axis);
  indices.push_back(axis);
  return Grad::Slices(scope.WithOpName("concat").Op("ConcatV2", values),
                      scope.WithOpName("concat").Op("ConcatV2", indices), grads[0].dense_shape);
}

Output SumTree(const Scope& scope, std::vector<Output> terms) {
  while (terms.size() > 1) {
    std::vector<Output> sums;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) sums.push_back(scope.Op("AddV2", {terms[i], terms[i + 1]}));
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}

}  // namespace

Grad GradientBuilder::Sum(const Scope& scope, const Output& output, Grads* grads) const {
  auto it = grads->find(output);
  if (it == grads->end() || it->second.empty() || !scope.ok()) return Grad();
  std::vector<Grad>& list = it->second;
  if (list.size() == 1) return list[0];
  Grad sum;
  if (std::all_of(list.begin(), list.end(), [](const Grad& g) { return g.IsSparse(); })) {
    sum = SumSlices(scope, list);
  } else {
    std::vector<Output> terms;
    for (const Grad& g : list) terms.push_back(DenseGrad(scope, g));
    sum = options_.aggregation == GradientOptions::Aggregation::kTree ? SumTree(scope, terms) : scope.Op("AddN", terms);
  }
  list.assign(1, sum);
  return sum;
}

}  // namespace millstream
