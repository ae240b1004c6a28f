// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_IMPORT_IMPORT_H_
#define MILLSTREAM_GRAPH_IMPORT_IMPORT_H_

#include "millstream/graph/functions/import_options.h"
#include "millstream/graph/graph.h"

namespace millstream {

namespace proto {
class GraphDef;
}  // namespace proto

// Adds the nodes and functions of `def` to `graph`, which may hold nodes already: new nodes may use those, never the
// other way round. All or nothing: after an error the graph is as it was. The program is not trusted. Every node is
// checked: op known (NotFound if not), attributes complete and of the right kind (absent ones get their defaults,
// unknown ones are refused unless they begin with '_'), inputs existing, in order, of the declared number and types, no
// cycles but NextIteration -> Merge (InvalidArgument). Errors name the node. A node whose op is a function of the
// library becomes a (Stateful)PartitionedCall.
Status ImportGraph(const proto::GraphDef& def, const ImportOptions& options, Graph* graph);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_IMPORT_IMPORT_H_
