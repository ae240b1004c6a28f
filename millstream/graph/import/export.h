// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_IMPORT_EXPORT_H_
#define MILLSTREAM_GRAPH_IMPORT_EXPORT_H_

#include <map>
#include <string>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

namespace proto {
class GraphDef;
class MetaGraphDef;
class NodeDef;
}  // namespace proto

struct ExportOptions {
  bool strip_default_attrs = false;  // leave out attributes that have their default: older readers know fewer of them
  bool assigned_devices = false;     // the placer's devices instead of the user's
  bool with_library = true;
};

// The graph as TensorFlow's message, nodes in order of their ids. Replaces what `def` holds. InvalidArgument if a node
// is not fully connected or holds a tensor that no message can carry.
Status ExportGraph(const Graph& graph, proto::GraphDef* def, const ExportOptions& options = {});
Status ExportNode(const Node& node, proto::NodeDef* def, const ExportOptions& options = {});

// One named list that travels with a graph; TensorFlow knows lists of names, of serialized messages and of numbers.
struct CollectionValues {
  std::vector<std::string> names;
  std::vector<std::string> bytes;
  std::vector<int64_t> ints;
  std::vector<float> floats;
};

// The graph with its collections, the definitions of the ops it uses and `tags`.
Status ExportMetaGraph(const Graph& graph, const std::map<std::string, CollectionValues>& collections,
                       const std::vector<std::string>& tags, proto::MetaGraphDef* def,
                       const ExportOptions& options = {});

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_IMPORT_EXPORT_H_
