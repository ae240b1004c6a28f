// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_VARIABLES_VARIABLE_SCOPE_H_
#define MILLSTREAM_GRAPH_VARIABLES_VARIABLE_SCOPE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/graph/variables/initializers.h"
#include "millstream/graph/variables/partitioners.h"

namespace millstream {

// A variable of a graph: the node that holds it, its value as an edge, and the op that gives it its first value.
struct GraphVariable {
  Output handle;  // a reference, or a resource handle
  Output value;   // read when the step gets there
  Node* initializer = nullptr;
  PartialShape shape;
  explicit operator bool() const { return static_cast<bool>(handle); }
};

// What a variable's value costs, as a scalar; an empty Output if nothing.
using Regularizer = std::function<Output(const Scope&, Output)>;
// The value nearest to the given one that is allowed: updates of optimizers end with it.
using Constraint = std::function<Output(const Scope&, Output)>;

struct VariableOptions {
  DType dtype = DType::kFloat;
  Initializer initializer = nullptr;  // none: the scope's, else Glorot for floating types and zeros for others
  // In place of an initializer, as tf.Variable(value): a tensor, or a value that becomes "<name>/initial_value".
  Output initial_value = {};
  std::optional<Tensor> initial_constant = {};
  bool trainable = true;
  bool resource = false;  // VarHandleOp rather than VariableV2
  std::vector<std::string> collections = {
      "variables"};  // besides "trainable_variables"; {"local_variables"} for the task's own
  // Those of the scope if none. What the regularizer gives goes to the collection "regularization_losses".
  Regularizer regularizer = nullptr;
  Constraint constraint = nullptr;
  Partitioner partitioner = nullptr;  // for GetPartitioned() and GetValue()
};

// A variable in parts, each a variable of its own, that together are a whole one. Checkpoints hold it whole: programs
// that split it otherwise, or not at all, restore it.
struct PartitionedVariable {
  std::string name;
  Shape shape;
  int axis = 0;                      // along which it is split
  std::vector<GraphVariable> parts;  // "<name>/part_0", ...
  // All of them together, by new nodes, outside of loops and branches.
  Output Value(const Scope& scope) const;
  explicit operator bool() const { return !parts.empty(); }
};

// With custom getters: how the variable of this whole name is got, and what a scope does instead.
using VariableGetter =
    std::function<GraphVariable(const std::string& name, const Shape& shape, const VariableOptions& options)>;
using CustomGetter = std::function<GraphVariable(const VariableGetter& getter, const std::string& name,
                                                 const Shape& shape, const VariableOptions& options)>;
// A regularizer that costs nothing, for a variable of a scope that has one.
inline Output NoRegularizer(const Scope&, Output) { return {}; }

// A variable named exactly so, whatever the scope's prefix, and outside of its loops and branches: nodes "a/w",
// "a/w/Assign", "a/w/read", "a/w/Initializer/...". InvalidArgument if a node has the name. Adds it to the collections.
// It is whole, whatever the partitioner.
GraphVariable MakeVariable(const Scope& scope, const std::string& name, const Shape& shape,
                           const VariableOptions& options = {});

// Names variables and shares them, as tf.variable_scope does: Get("w") within "layer" is the variable "layer/w", which
// is made the first time and found again where the scope reuses variables. A value; copies, and scopes made from one
// another, share the variables. Ops go to scope(). Errors go to its status. Not thread-safe.
class VariableScope {
 public:
  enum class Reuse { kInherit, kNo, kYes, kAuto };  // kAuto: found where it is there, else made

  // The root: variables without a prefix.
  explicit VariableScope(const Scope& scope);

  // The scope `name` within this one. Reuse passes on to scopes within, where kNo cannot undo kYes. Its ops go to a
  // name scope of the same name, made unique. Within it EnterNew() begins anew, so that layers find theirs again.
  VariableScope Enter(absl::string_view name, Reuse reuse = Reuse::kInherit) const;
  // The default for variables of this scope and those within.
  VariableScope WithInitializer(Initializer initializer) const;
  VariableScope WithRegularizer(Regularizer regularizer) const;
  VariableScope WithConstraint(Constraint constraint) const;
  // Null: variables are whole again.
  VariableScope WithPartitioner(Partitioner partitioner) const;
  // Get() of this scope and those within asks `getter`, which may ask the getter that it is given: that of the scope
  // around this one.
  VariableScope WithCustomGetter(CustomGetter getter) const;
  // Ops and variables go to that device; inner parts win.
  VariableScope WithDevice(absl::string_view device) const;
  // Ops and variables go where `place` says, which sees the device that was asked for.
  VariableScope WithDeviceFunction(DeviceFunction place) const;
  // Ops go to `scope`: into a loop or a branch of this scope, say. Variables stay where they were to go.
  VariableScope WithScope(const Scope& scope) const;
  // The scope `base` within this one, or `base`_1, ...: the first that was not entered yet.
  VariableScope EnterNew(absl::string_view base) const;
  // The scope without prefix that this one came from, with the same devices and defaults.
  VariableScope AtRoot() const;

  const Scope& scope() const { return scope_; }
  const std::string& name() const { return name_; }  // "" or "a/b"

  // InvalidArgument: it is there and the scope does not reuse; it is not there and the scope must; it has another shape
  // or type. Adds a new one to its collections.
  // With a partitioner, its own or the scope's, a variable that is not a scalar is not got so: InvalidArgument.
  GraphVariable Get(absl::string_view name, const Shape& shape, const VariableOptions& options = {}) const;
  // In as many parts as the partitioner says: InvalidArgument if there is none, or if it does not fit. Parts are placed
  // and initialized as variables of their own; custom getters are asked for each.
  PartitionedVariable GetPartitioned(absl::string_view name, const Shape& shape,
                                     const VariableOptions& options = {}) const;
  // The value of either, as partitioners want it: for layers.
  Output GetValue(absl::string_view name, const Shape& shape, const VariableOptions& options = {}) const;

 private:
  struct Store;
  // With what the scope gives for what they lack.
  VariableOptions Complete(const VariableOptions& options) const;
  GraphVariable GetNamed(const std::string& name, const Shape& shape, const VariableOptions& options) const;
  // Found or made, without getters.
  GraphVariable GetPlain(const std::string& name, const Shape& shape, const VariableOptions& options) const;
  PartitionedVariable MakeParts(const std::string& name, const Shape& shape, const VariableOptions& options) const;
  GraphVariable Found(const std::string& name, const GraphVariable& variable, const Shape& shape, DType dtype) const;

  Scope scope_;
  Scope variables_;  // where variables go
  std::shared_ptr<Store> store_;
  std::string name_;
  Reuse reuse_ = Reuse::kNo;
  Initializer initializer_;
  Regularizer regularizer_;
  Constraint constraint_;
  Partitioner partitioner_;
  CustomGetter getter_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_VARIABLES_VARIABLE_SCOPE_H_
