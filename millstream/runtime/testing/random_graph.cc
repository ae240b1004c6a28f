// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/testing/random_graph.h"

#include "millstream/graph/control_flow/control_flow_builders.h"

namespace millstream {

RandomGraph::RandomGraph(uint32_t seed) : random_(seed) {
  Output x = root_.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", Shape()}});
  Outputs values = {x, root_.Const(0.5), root_.Op("Neg", {x})};
  feeds_ = {{x, Tensor::Scalar(1.25)}};
  AddSome(root_, 4 + Below(8), 0, &values);
  for (int i = 0; i < 3; ++i) fetches_.push_back(Pick(values));
  fetches_.push_back(values.back());
}

std::vector<int> RandomGraph::TaskOfEachNode(int tasks) {
  const int stay = 1 + Below(12);
  std::vector<int> of;
  for (int id = 0, task = 0; id < root_.graph()->id_limit(); ++id) {
    if (Below(stay) == 0) task = Below(tasks);
    of.push_back(task);
  }
  return of;
}

void RandomGraph::AddSome(const Scope& s, int count, int depth, Outputs* values) {
  std::vector<Node*> here;  // may be waited for: not of another loop or branch
  for (int i = 0; i < count && s.ok(); ++i) {
    const int kind = Below(10);
    if (kind == 0 && depth < 3) {
      AddLoop(s, depth, values);
    } else if (kind <= 2 && depth < 3) {
      AddCond(s, depth, values);
    } else if (kind == 3) {
      values->push_back(s.Const(0.25 * Below(8)));
      here.push_back(values->back().node);
    } else {
      AddOp(s, here, values);
      here.push_back(values->back().node);
    }
  }
}

void RandomGraph::AddOp(const Scope& s, const std::vector<Node*>& here, Outputs* values) {
  static constexpr const char* kBinary[] = {"AddV2", "Sub", "Maximum", "Minimum"};
  std::vector<Node*> after;
  if (!here.empty() && Below(3) == 0) after.push_back(here[Below(static_cast<int>(here.size()))]);
  const Scope in = s.WithControlDependencies(after);
  values->push_back(Below(4) == 0 ? in.Op("Identity", {Pick(*values)})
                                  : in.Op(kBinary[Below(4)], {Pick(*values), Pick(*values)}));
}

void RandomGraph::AddCond(const Scope& s, int depth, Outputs* values) {
  const int results = 1 + Below(2);
  const auto branch = [&](const Scope& in) {
    Outputs inside = *values;
    AddSome(in, 1 + Below(4), depth + 1, &inside);
    Outputs out;
    for (int i = 0; i < results; ++i) out.push_back(i == 0 ? inside.back() : Pick(inside));
    return out;
  };
  Output pred = s.Op("Less", {Pick(*values), Pick(*values)});
  for (const Output& o : Cond(s, pred, branch, branch)) values->push_back(o);
}

void RandomGraph::AddLoop(const Scope& s, int depth, Outputs* values) {
  static constexpr int kParallel[] = {1, 2, 10};
  WhileOptions options;
  options.parallel_iterations = kParallel[Below(3)];
  const int times = Below(5);
  const auto cond = [&](const Scope& in, const Outputs& v) { return in.Op("Less", {v[0], in.Const<int32_t>(times)}); };
  const auto body = [&](const Scope& in, const Outputs& v) {
    Outputs inside = *values;
    inside.insert(inside.end(), v.begin() + 1, v.end());
    AddSome(in, 2 + Below(4), depth + 1, &inside);
    // What comes from outside must pass something inside, or it would go on for ever.
    const auto next = [&](const Output& o) { return in.Op("Maximum", {o, in.Op("Minimum", {v[1], in.Const(2.0)})}); };
    return Outputs{in.Op("AddV2", {v[0], in.Const<int32_t>(1)}), next(inside.back()), next(Pick(inside))};
  };
  const Outputs r = WhileLoop(s, cond, body, {s.Const<int32_t>(0), Pick(*values), Pick(*values)}, options);
  for (size_t i = 1; i < r.size(); ++i) values->push_back(r[i]);
}

}  // namespace millstream
