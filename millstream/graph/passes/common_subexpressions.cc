// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

// Comparing large constants costs more than holding them twice.
constexpr size_t kMaxComparedBytes = 1024;

struct Expression {
  const Node* node;
  std::vector<std::pair<const Node*, int>> inputs;  // of a commutative op: sorted
  std::vector<const Node*> control;
};

bool MayMerge(const Node& node) {
  if (!IsPure(node) || node.num_outputs() == 0) return false;
  Tensor value;
  return !IsA(node, OpKind::kConst) || (node.GetAttr("value", &value).ok() && value.ByteSize() <= kMaxComparedBytes);
}

Expression Describe(const Node& node, const Replacements& merged) {
  Expression e{&node, {}, {}};
  for (const Output& in : node.inputs()) {
    const Output to = merged.Resolve(in);
    e.inputs.emplace_back(to.node, to.index);
  }
  if (node.op().def.commutative) std::sort(e.inputs.begin(), e.inputs.end());
  for (Node* in : node.control_inputs()) e.control.push_back(merged.ResolveWait(in));
  std::sort(e.control.begin(), e.control.end());
  return e;
}

size_t HashOf(const Expression& e) {
  return absl::HashOf(&e.node->op(), e.inputs, e.control, e.node->assigned_device(), e.node->attrs().size());
}

bool SameAttrs(const Node& a, const Node& b) {
  return a.attrs().size() == b.attrs().size() && std::equal(a.attrs().begin(), a.attrs().end(), b.attrs().begin(),
                                                            [](const AttrMap::Entry& x, const AttrMap::Entry& y) {
                                                              return x.first == y.first && x.second == y.second;
                                                            });
}

bool Equal(const Expression& a, const Expression& b) {
  return &a.node->op() == &b.node->op() && a.inputs == b.inputs && a.control == b.control &&
         a.node->assigned_device() == b.node->assigned_device() && SameAttrs(*a.node, *b.node);
}

}  // namespace

Status MergeCommonSubexpressions(PrunedGraph* part) {
  ASSIGN_OR_RETURN(const std::vector<Node*> order, part->graph->TopologicalOrder());
  // By hash: the first node with it, as an index into `order`; then lists of those with the same.
  absl::flat_hash_map<size_t, int32_t> first;
  std::vector<int32_t> next(order.size(), -1);
  Replacements merged;
  for (size_t i = 0; i < order.size(); ++i) {
    Node* node = order[i];
    if (!MayMerge(*node)) continue;
    const Expression e = Describe(*node, merged);
    int32_t& head = first.try_emplace(HashOf(e), -1).first->second;
    // A graph made to collide must not cost quadratic time.
    int tries = 64;
    int32_t same = head;
    while (same >= 0 && tries-- > 0 && !Equal(e, Describe(*order[same], merged))) same = next[same];
    if (same < 0 || tries < 0) {
      next[i] = head;
      head = static_cast<int32_t>(i);
      continue;
    }
    for (int k = 0; k < node->num_outputs(); ++k) merged.Replace(Output(node, k), Output(order[same], k));
    merged.Drop(node, order[same]);
  }
  merged.Apply(part);
  return OkStatus();
}

}  // namespace millstream
