// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUNCTIONS_NODE_IMPORT_H_
#define MILLSTREAM_GRAPH_FUNCTIONS_NODE_IMPORT_H_

#include <memory>
#include <unordered_map>

#include "absl/functional/function_ref.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/functions/import_options.h"
#include "millstream/graph/graph.h"

namespace millstream {

namespace proto {
class NodeDef;
}  // namespace proto

// Turns NodeDefs into nodes of one graph: first every node is added, then every node is connected, then the new part is
// checked for cycles. What graphs and function bodies have in common; they differ in how inputs are written.
class NodeImporter {
 public:
  // `library` may be null. Both outlive the importer.
  NodeImporter(const ImportOptions& options, Graph* graph, const FunctionLibrary* library);

  // Adds the node without its inputs. With `bindings` the placeholders among its attributes are replaced; without, they
  // are refused.
  StatusOr<Node*> Add(const proto::NodeDef& def, const AttrMap* bindings = nullptr);

  // Appends the outputs that a data input means; returns false if there are none of that name.
  using Resolve = absl::FunctionRef<bool(absl::string_view, std::vector<Output>*)>;
  // Gives the node its inputs and checks their number and types. REQUIRES: all nodes were added.
  Status Connect(Node* node, const proto::NodeDef& def, Resolve resolve);

  // InvalidArgument if the nodes added here are in a cycle.
  Status CheckAcyclic() const;

  // The outputs [begin, end) that declared output `arg` of `node` covers. NotFound if there is no such arg.
  Status OutputRange(const Node& node, absl::string_view arg, int* begin, int* end) const;

 private:
  // A node that calls a function by using its name as op.
  struct Call {
    std::shared_ptr<const Function> function;
    AttrMap attrs;
  };
  Status AddAttrs(const proto::NodeDef& def, const AttrMap* bindings, AttrMap* attrs);
  // Rewrites a call of `function` with `attrs` into a (Stateful)PartitionedCall.
  Status MakeCall(std::shared_ptr<const Function> function, Graph::NodeSpec* spec, Call* call) const;
  Status CheckNode(const Node& node);

  const ImportOptions& options_;
  Graph* const graph_;
  const FunctionLibrary* const library_;
  const int first_id_;
  int64_t budget_;
  std::unordered_map<int, Call> calls_;  // by node id
};

// `status` with the node's name, as TensorFlow writes it, and cut to a length that fits into an RPC's trailer.
Status InNode(const Status& status, absl::string_view node_name);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUNCTIONS_NODE_IMPORT_H_
