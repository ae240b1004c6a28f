// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_SCOPE_H_
#define MILLSTREAM_GRAPH_SCOPE_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

class Scope;
class ShapeRefiner;

// The inside of a loop body or of a branch. A scope with a context brings every input of a new node inside (by Enter,
// Switch, or a stack), and gives nodes without inputs a control dependency that makes them run inside.
class FlowContext {
 public:
  virtual ~FlowContext() = default;
  // `value` as seen inside: itself if it is there already. Empty after an error (reported to its scope).
  virtual Output Import(Output value) = 0;
  // A node that runs exactly when the inside runs.
  virtual Node* pivot() = 0;
  // Called for each node that was added inside.
  virtual void Added(Node* node) = 0;
  // Where a node of this type belongs if not inside: null, or a scope that gets it instead.
  virtual const Scope* Elsewhere(absl::string_view, const std::vector<Output>&) { return nullptr; }
};

// Where a node goes: a full or partial device name. The node's device() is what was asked for it so far.
using DeviceFunction = std::function<std::string(const Node&)>;

// Attributes given to Scope::Op: {{"T", DType::kFloat}, {"strides", std::vector<int64_t>{1, 2, 2, 1}}}.
using Attrs = std::initializer_list<std::pair<const char*, AttrValue>>;

// Where new nodes go: a graph with a name prefix, a device, control dependencies. A cheap value; copies share the
// graph, the collections and the first error. After an error every call is a no-op that returns empty Outputs, so a
// chain of calls needs one check of status() at its end. Not thread-safe.
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
  Scope NameScope(absl::string_view name) const;     // "a/" then "a_1/" ...; "a/" enters it again; "" is the root
  Scope WithOpName(absl::string_view name) const;    // the next op's own name
  Scope WithDevice(absl::string_view device) const;  // inner parts win, missing parts come from outside
  Scope WithNoDevice() const;                        // forgets devices and device functions outside
  // tf.device(function): asked for each new node, which has the device of WithDevice() calls within this scope.
  Scope WithDeviceFunction(DeviceFunction place) const;
  // New nodes run after `nodes`. One with an input that was made in the same scope (or in one derived from it) waits
  // through that input and gets no control inputs of its own, as in TensorFlow.
  Scope WithControlDependencies(std::vector<Node*> nodes) const;
  Scope WithNoControlDependencies() const;
  // New nodes go where `node` is: stronger than devices outside of this scope and, if the node has a device, than those
  // within. Within a scope that colocates with other nodes, with those too. A node that takes a reference is always
  // colocated with the node that gives it.
  Scope ColocateWith(Node* node) const;
  // The same for a node that may not be there yet; within a scope that colocates already, it stays as it was.
  Scope ColocateWithName(absl::string_view name) const;
  Scope WithNoColocation() const;
  Scope WithContext(std::shared_ptr<FlowContext> context) const;  // drops control dependencies: they are outside
  const std::shared_ptr<FlowContext>& context() const { return context_; }
  // `value` as nodes of this scope will see it.
  Output Import(Output value) const { return context_ == nullptr || !value ? value : context_->Import(value); }
  const std::string& name_prefix() const { return prefix_; }
  absl::string_view device() const { return colocation_.device.empty() ? device_ : colocation_.device; }

  // Adds a node. Type and count attributes are inferred from the inputs; `attrs` gives the rest. Returns the node,
  // or null after an error.
  Node* Add(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const;
  Node* Add(absl::string_view type, std::vector<Output> inputs,
            std::vector<std::pair<std::string, AttrValue>> attrs) const;
  // The same for its first output.
  Output Op(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const {
    Node* node = Add(type, std::move(inputs), attrs);
    return node == nullptr || node->num_outputs() == 0 ? Output() : Output(node, 0);
  }
  Output Const(Tensor value) const;
  template <typename T>
  Output Const(T value) const {
    return Const(Tensor::Scalar(value));
  }
  Output Constant(std::initializer_list<int32_t> values) const { return Const(Tensor::Vector<int32_t>(values)); }

  // Named lists that travel with the graph ("trainable_variables", "summaries", ...).
  void AddToCollection(const std::string& name, Output value) const;
  const std::vector<Output>& Collection(const std::string& name) const;

  // A name nobody has, marked as used: `name` under this scope's prefix, with "_1", "_2" ... if needed.
  std::string UniqueName(absl::string_view name) const;

  // Static shape of an output as far as known.
  PartialShape ShapeOf(Output output) const;
  // The value of an output if it can be told without running.
  bool ConstantValue(Output output, Tensor* value) const;

 private:
  struct Shared;
  struct Dependencies;  // of one WithControlDependencies()
  struct Colocation {
    void Add(const Node& node);
    std::vector<std::string> groups;  // sorted
    std::string device;               // of the last node that has one
  };
  struct Placement {
    std::shared_ptr<const DeviceFunction> function;  // shared: it may count
    std::string outside;                             // the device asked for outside of it
  };
  Node* AddWith(absl::string_view type, std::vector<Output> inputs, AttrMap attrs) const;
  StatusOr<Node*> MakeNode(absl::string_view type, std::vector<Output> inputs, AttrMap attrs) const;
  std::vector<Node*> ControlInputs(const std::vector<Output>& inputs) const;
  Colocation ColocationFor(const OpDef& op, const std::vector<Output>& inputs) const;
  Status Place(Node* node) const;
  std::shared_ptr<Shared> shared_;
  std::string prefix_;
  std::string op_name_;
  std::string device_;  // asked for within the innermost of placements_
  std::vector<Placement> placements_;
  std::vector<std::shared_ptr<Dependencies>> control_;
  Colocation colocation_;
  std::shared_ptr<FlowContext> context_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_SCOPE_H_
