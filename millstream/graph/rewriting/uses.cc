// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/rewriting/uses.h"

namespace millstream {

Uses::Uses(const PrunedGraph& part)
    : reads_(static_cast<size_t>(part.graph->id_limit()), 0),
      reader_(static_cast<size_t>(part.graph->id_limit()), nullptr),
      waited_(static_cast<size_t>(part.graph->id_limit()), false) {
  for (const auto& node : part.graph->nodes()) {
    if (node == nullptr) continue;
    for (const Output& in : node->inputs()) {
      if (in.index != 0) continue;
      ++reads_[in.node->id()];
      reader_[in.node->id()] = node.get();
    }
    for (const Node* in : node->control_inputs()) waited_[in->id()] = true;
  }
  for (const Output& ret : part.rets) reads_[ret.node->id()] += 2;
  for (const Node* node : part.targets) waited_[node->id()] = true;
}

}  // namespace millstream
