// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_REWRITING_REPLACEMENT_H_
#define MILLSTREAM_GRAPH_REWRITING_REPLACEMENT_H_

#include <unordered_map>

#include "millstream/graph/prune.h"

namespace millstream {

// Collects "use this output instead of that one", then rewires the whole part in one pass.
class Replacements {
 public:
  // `node` as a whole goes away; its outputs are replaced one by one with Replace(). Whoever only waited for `node`
  // waits for `waits_for` instead (null: need not wait).
  void Drop(Node* node, Node* waits_for) { dropped_[node] = waits_for; }
  void Replace(const Output& from, const Output& to) { outputs_[from] = to; }
  bool empty() const { return outputs_.empty() && dropped_.empty(); }
  // What `output` has become so far.
  Output Resolve(Output output) const;
  Node* ResolveWait(Node* node) const;
  void Apply(PrunedGraph* part) const;

 private:
  void ApplyToWaits(Graph* graph, Node* node) const;

  // Lookups shorten chains.
  mutable std::unordered_map<Output, Output, OutputHash> outputs_;
  mutable std::unordered_map<Node*, Node*> dropped_;
};

// True if a pass may drop or move the node: no state, no control flow, not asked for by name.
bool IsPure(const Node& node);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_REWRITING_REPLACEMENT_H_
