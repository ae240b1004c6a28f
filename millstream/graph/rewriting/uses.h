// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_REWRITING_USES_H_
#define MILLSTREAM_GRAPH_REWRITING_USES_H_

#include <vector>

#include "millstream/graph/prune.h"

namespace millstream {

// Who reads the first output of each node, at the time of construction; results and targets of the step count.
class Uses {
 public:
  explicit Uses(const PrunedGraph& part);
  // The node that alone reads the first output, once and as data, and may therefore take it over; null if there is
  // none. Further outputs may have other readers.
  Node* OnlyReader(const Node& node) const {
    return reads_[node.id()] == 1 && !waited_[node.id()] ? reader_[node.id()] : nullptr;
  }

 private:
  std::vector<int> reads_;
  std::vector<Node*> reader_;
  std::vector<bool> waited_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_REWRITING_USES_H_
