// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_IMPORT_H_
#define MILLSTREAM_GRAPH_IMPORT_H_

#include <cstdint>

#include "millstream/graph/graph.h"

namespace millstream {

namespace proto {
class GraphDef;
}  // namespace proto

// The version of the program format that we speak: TensorFlow 2.21's.
inline constexpr int kGraphDefVersion = 2474;

// Limits on what a program may ask for; ResourceExhausted beyond them.
struct ImportOptions {
  int64_t max_nodes = int64_t{4} << 20;         // of the graph with what it already holds; functions count too
  int64_t max_tensor_bytes = int64_t{2} << 30;  // of one tensor in an attribute
  int64_t max_graph_bytes = int64_t{16} << 30;  // of all that the nodes hold beyond their text: tensors, outputs
};

// Adds the nodes and functions of `def` to `graph`, which may hold nodes already: new nodes may use those, never the
// other way round. All or nothing: after an error the graph is as it was. The program is not trusted. Every node is
// checked: op known (NotFound if not), attributes complete and of the right kind (absent ones get their defaults,
// unknown ones are refused unless they begin with '_'), inputs existing, in order, of the declared number and types, no
// cycles but NextIteration -> Merge (InvalidArgument). Errors name the node. A node whose op is a function of the
// library becomes a (Stateful)PartitionedCall.
Status ImportGraph(const proto::GraphDef& def, const ImportOptions& options, Graph* graph);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_IMPORT_H_
