// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PLACEMENT_GRAPH_CUTTER_H_
#define MILLSTREAM_GRAPH_PLACEMENT_GRAPH_CUTTER_H_

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/graph/control_flow.h"
#include "millstream/graph/placement/dead_values.h"
#include "millstream/graph/placement/partition.h"

namespace millstream {

// Where a node of the whole graph went: its twin in one part. Null and -1 for a node that is only copied to its
// readers.
struct Twin {
  Node* node = nullptr;
  int part = -1;
};

// The second half of PartitionByTask(): joins parts by transfers and loops by control loops. Nodes are named as in the
// whole graph; what is added is added to the parts. Everything is made when it is first asked for, and once.
class GraphCutter {
 public:
  // `twins`: by id of the whole graph's nodes. All are borrowed.
  GraphCutter(const ControlFlow& flow, const DeadValues& dead, const std::vector<Twin>& twins, PartitionedGraph* out)
      : flow_(flow), dead_(dead), twins_(twins), out_(*out), nothing_(out->parts.size(), nullptr) {}

  // `value` as part `to` sees it: the output of a _Recv on `device`. REQUIRES: its node is in another part.
  StatusOr<Output> Receive(const Output& value, int to, absl::string_view device);
  // A node of part `to` that runs after `node` has run elsewhere, and is dead if that was dead.
  StatusOr<Node*> ReceiveDone(const Node& node, int to, absl::string_view device);
  // A node of the part that runs once in each iteration of `frame`: the Merge of the part's own control loop, which
  // goes on as long as the loop's condition is true, wherever that is computed.
  StatusOr<Node*> ControlLoop(const LoopFrame* frame, int part);

 private:
  struct NewNode {
    const char* type;
    std::string name;
    std::vector<Output> inputs;
    std::vector<Node*> control_inputs;
    AttrMap attrs;
    absl::string_view device;
  };
  StatusOr<Node*> Add(int part, NewNode node);
  // A new edge between parts.
  struct NewEdge {
    const Node* node;  // where it starts
    std::string tensor;
    Output value;  // what to send, in the part of `node`
    Node* after;   // null, or what to wait for before sending
    bool may_be_dead;
    int to;
    absl::string_view device;  // of the _Recv
  };
  StatusOr<Node*> Cut(const NewEdge& edge);
  // A device as an attribute that many nodes share.
  const AttrValue& NameOf(absl::string_view device);
  StatusOr<Node*> Nothing(int part, absl::string_view device);
  StatusOr<Node*> AddControlLoop(const LoopFrame* frame, int part);

  const ControlFlow& flow_;
  const DeadValues& dead_;
  const std::vector<Twin>& twins_;
  PartitionedGraph& out_;
  std::vector<Node*> nothing_;                                      // by part: an empty constant
  absl::flat_hash_map<std::tuple<int, int, int>, Node*> received_;  // (node, output, part)
  absl::flat_hash_map<std::pair<int, int>, Node*> done_;            // (node, part)
  absl::flat_hash_map<std::pair<const LoopFrame*, int>, Node*> loops_;
  absl::flat_hash_map<absl::string_view, AttrValue> device_names_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PLACEMENT_GRAPH_CUTTER_H_
