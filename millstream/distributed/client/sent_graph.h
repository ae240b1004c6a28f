// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_CLIENT_SENT_GRAPH_H_
#define MILLSTREAM_DISTRIBUTED_CLIENT_SENT_GRAPH_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "millstream/base/status.h"
#include "millstream/graph/graph.h"

namespace millstream {

namespace proto {
class GraphDef;
}  // namespace proto

// Which nodes and functions of a growing graph a server has been sent: a session extends it by what is new. Not thread
// safe.
class SentGraph {
 public:
  void Add(const proto::GraphDef& graph);
  // Nodes and functions of `graph` that have not been sent, with the version of our graphs; gradients of functions are
  // sent along with new functions.
  StatusOr<proto::GraphDef> Missing(const Graph& graph) const;

 private:
  absl::flat_hash_set<std::string> nodes_;
  absl::flat_hash_set<std::string> functions_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_CLIENT_SENT_GRAPH_H_
