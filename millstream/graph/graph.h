// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_GRAPH_H_
#define MILLSTREAM_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "millstream/framework/op.h"

namespace millstream {

class FunctionLibrary;  // millstream/graph/functions/function_library.h
class Graph;
class Node;

// One output of a node: what an edge starts at.
struct Output {
  Node* node = nullptr;
  int index = 0;

  Output() = default;
  Output(Node* n, int i = 0) : node(n), index(i) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return node != nullptr; }
  DType dtype() const;       // without the ref bit
  std::string name() const;  // "node:1"
  friend bool operator==(const Output& a, const Output& b) = default;
};

struct OutputHash {
  size_t operator()(const Output& o) const {
    return std::hash<const void*>()(o.node) * 31 + static_cast<size_t>(o.index);
  }
};

// A use of an op. Owned by its Graph; stays at its address until removed.
class Node {
 public:
  int id() const { return id_; }  // dense index in the graph
  const std::string& name() const { return name_; }
  const OpEntry& op() const { return *op_; }
  const std::string& type() const { return op_->def.name; }
  bool Is(absl::string_view type) const { return op_->def.name == type; }

  const AttrMap& attrs() const { return attrs_; }
  AttrMap& attrs() { return attrs_; }
  template <typename T>
  Status GetAttr(absl::string_view name, T* value) const {
    return attrs_.Get(name, value);
  }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  const Output& input(int i) const { return inputs_[i]; }
  const std::vector<Output>& inputs() const { return inputs_; }
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  DType output_type(int i) const { return output_types_[i]; }  // with the ref bit
  const std::vector<DType>& output_types() const { return output_types_; }
  Output output(int i) { return Output(this, i); }
  // The types the op declares for its inputs (with ref bits).
  StatusOr<std::vector<DType>> InputTypes() const;

  // As the user wrote it ("/job:ps/task:0", ""); then where the placer put it, a full name.
  absl::string_view device() const { return device_; }
  void set_device(absl::string_view device) { device_ = Intern(device); }
  absl::string_view assigned_device() const { return assigned_device_; }
  void set_assigned_device(absl::string_view device) { assigned_device_ = Intern(device); }

  bool IsControlFlow() const { return control_flow_; }  // Switch, Merge, Enter, Exit, NextIteration and their Ref twins
  bool IsStateful() const { return op_->def.stateful; }
  bool IsSend() const { return Is("_Send") || Is("_LoopSend"); }
  bool IsTransfer() const { return IsSend() || Is("_Recv"); }  // where a graph was cut between tasks

 private:
  friend class Graph;
  int id_ = -1;
  bool control_flow_ = false;
  const OpEntry* op_ = nullptr;
  std::string name_;
  AttrMap attrs_;
  std::vector<Output> inputs_;
  std::vector<Node*> control_inputs_;
  std::vector<DType> output_types_;
  absl::string_view device_;
  absl::string_view assigned_device_;
};

// A dataflow graph. Not thread-safe while it changes. Edges are stored at the consumer; ask Consumers() for the other
// direction (computed in one pass, not kept).
class Graph {
 public:
  explicit Graph(std::shared_ptr<FunctionLibrary> library = nullptr);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  struct NodeSpec {
    std::string name;
    const OpEntry* op = nullptr;
    AttrMap attrs;  // completed and checked by AddNode()
    std::vector<Output> inputs;
    std::vector<Node*> control_inputs;
    absl::string_view device;
  };
  // Checks attributes, number and types of inputs (names the node in errors). Node names are unique: InvalidArgument if
  // not. With `check_inputs` false the inputs may be incomplete (loops); finish with SetInput() and CheckInputs().
  StatusOr<Node*> AddNode(NodeSpec spec, bool check_inputs = true);
  Status CheckInputs(const Node& node) const;
  // A twin of a node that was checked when it was added elsewhere, with inputs of this graph. REQUIRES: its name is
  // free.
  Node* AddCopy(const Node& of, std::vector<Output> inputs, std::vector<Node*> control_inputs);

  void SetInput(Node* node, int i, Output to) { node->inputs_[i] = to; }
  void AddInput(Node* node, Output from) { node->inputs_.push_back(from); }
  void SetInputs(Node* node, std::vector<Output> inputs) { node->inputs_ = std::move(inputs); }
  void AddControlInput(Node* node, Node* from);
  void SetControlInputs(Node* node, std::vector<Node*> from) { node->control_inputs_ = std::move(from); }
  // REQUIRES: nobody uses it any more. Ids of other nodes stay until Compact().
  void RemoveNode(Node* node);
  // Removes every node from this id on. REQUIRES: no node before it uses one of them.
  void RemoveNodesFrom(int first_id);
  // Renumbers nodes densely, keeping their order.
  void Compact();

  // In order of ids; entries of removed nodes are null until Compact().
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  int num_nodes() const { return num_live_; }
  int id_limit() const { return static_cast<int>(nodes_.size()); }
  Node* Find(absl::string_view name) const;
  // "node", "node:0" or "node:2"; NotFound / InvalidArgument.
  StatusOr<Output> FindOutput(absl::string_view name) const;
  std::string UniqueName(absl::string_view prefix);

  // Edges out of each node, by id: data consumers with their input index, and control consumers (input index -1).
  struct Consumer {
    Node* node;
    int input;   // -1: control edge
    int output;  // which output of the producer
  };
  std::vector<std::vector<Consumer>> Consumers() const;

  // Nodes in an order where producers come first; back edges (NextIteration -> Merge) are ignored. InvalidArgument on
  // any other cycle.
  StatusOr<std::vector<Node*>> TopologicalOrder() const;

  const std::shared_ptr<FunctionLibrary>& library() const { return library_; }
  void set_library(std::shared_ptr<FunctionLibrary> library) { library_ = std::move(library); }
  int64_t producer_version() const { return producer_; }
  void set_producer_version(int64_t v) { producer_ = v; }
  // Whole copy; `map` (optional) receives old node id -> new node.
  std::unique_ptr<Graph> Clone(std::vector<Node*>* map = nullptr) const;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, int> unique_counters_;
  struct NameIndex;
  std::unique_ptr<NameIndex> names_;
  std::shared_ptr<FunctionLibrary> library_;
  int num_live_ = 0;
  int64_t producer_ = 0;
};

inline DType Output::dtype() const { return RemoveRef(node->output_type(index)); }

// True for letters, digits and ./>-_ in the places where TensorFlow allows them.
bool IsValidNodeName(absl::string_view name);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_GRAPH_H_
