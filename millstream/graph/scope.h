// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_SCOPE_H_
#define MILLSTREAM_GRAPH_SCOPE_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

class ShapeRefiner;

// Attributes given to Scope::Op: {{"T", DType::kFloat}, {"strides", std::vector<int64_t>{1, 2, 2, 1}}}.
using Attrs = std::initializer_list<std::pair<const char*, AttrValue>>;

// Where new nodes go: a graph with a name prefix, a device, control dependencies. A cheap value; copies share the
// graph, the collections and the first error. After an error every call is a no-op that returns empty Outputs, so a chain of
// calls needs one check of status() at its end. Not thread-safe.
class Scope {
 public:
  // A new, empty graph.
  static Scope Root();
  explicit Scope(std::shared_ptr<Graph> graph);

  const std::shared_ptr<Graph>& graph() const;
  ShapeRefiner& shapes() const;  // shapes of every node added so far
  const Status& status() const;
  void Fail(Status status) const;
  bool ok() const { return status().ok(); }

  // Scopes derived from this one.
  Scope NameScope(absl::string_view name) const;        // "a/" then "a_1/" ...
  Scope WithOpName(absl::string_view name) const;       // the next op's own name
  Scope WithDevice(absl::string_view device) const;     // inner parts win, missing parts come from outside
  Scope WithControlDependencies(std::vector<Node*> nodes) const;
  Scope WithNoControlDependencies() const;
  Scope ColocateWith(Node* node) const;
  const std::string& name_prefix() const { return prefix_; }
  absl::string_view device() const { return device_; }

  // Adds a node. Type and count attributes are inferred from the inputs; `attrs` gives the rest. Returns the node,
  // or null after an error.
  Node* Add(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const;
  Node* Add(absl::string_view type, std::vector<Output> inputs, std::vector<std::pair<std::string, AttrValue>> attrs) const;
  // The same for its first output.
  Output Op(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const {
    Node* node = Add(type, std::move(inputs), attrs);
    return node == nullptr || node->num_outputs() == 0 ? Output() : Output(node, 0);
  }
  Output Const(Tensor value) const;
  template <typename T>
  Output Const(T value) const { return Const(Tensor::Scalar(value)); }
  Output Constant(std::initializer_list<int32_t> values) const { return Const(Tensor::Vector<int32_t>(values)); }

  // Named lists that travel with the graph ("trainable_variables", "summaries", ...).
  void AddToCollection(const std::string& name, Output value) const;
  const std::vector<Output>& Collection(const std::string& name) const;

  // Static shape of an output as far as known.
  PartialShape ShapeOf(Output output) const;
  // The value of an output if it can be told without running.
  bool ConstantValue(Output output, Tensor* value) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::string prefix_;
  std::string op_name_;
  std::string device_;
  std::vector<Node*> control_;
  std::string colocate_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_SCOPE_H_
