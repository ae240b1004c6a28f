// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_VARIABLE_SCOPE_H_
#define MILLSTREAM_GRAPH_VARIABLE_SCOPE_H_

#include <functional>
#include <memory>
#include <string>

#include "millstream/graph/scope.h"

namespace millstream {

// A variable of a graph: the node that holds it, its value as an edge, and the op that gives it its first value.
struct GraphVariable {
  Output handle;  // a reference, or a resource handle
  Output value;   // read when the step gets there
  Node* initializer = nullptr;
  PartialShape shape;
  explicit operator bool() const { return static_cast<bool>(handle); }
};

// The first value of a variable of that shape: nodes in the scope that it is given.
using Initializer = std::function<Output(const Scope&, DType, const Shape&)>;
Initializer ConstantInitializer(double value);
// Uniform in [-limit, limit] with limit = sqrt(6 / (inputs + outputs)), of a matrix or a filter; TensorFlow's default.
Initializer GlorotUniformInitializer(int64_t seed = 0);

struct VariableOptions {
  DType dtype = DType::kFloat;
  Initializer initializer = nullptr;  // none: the scope's, else Glorot for floating types and zeros for others
  bool trainable = true;
  bool resource = false;    // VarHandleOp rather than VariableV2
};

// Names variables and shares them, as tf.variable_scope does: Get("w") within "layer" is the variable "layer/w", which is
// made the first time and found again where the scope reuses variables. A value; copies, and scopes made from one another,
// share the variables. Ops go to scope(). Errors go to its status. Not thread-safe.
class VariableScope {
 public:
  enum class Reuse { kInherit, kNo, kYes, kAuto };  // kAuto: found where it is there, else made

  // The root: variables without a prefix.
  explicit VariableScope(const Scope& scope);

  // The scope `name` within this one. Reuse passes on to scopes within, where kNo cannot undo kYes. Its ops go to a name
  // scope of the same name, made unique.
  VariableScope Enter(absl::string_view name, Reuse reuse = Reuse::kInherit) const;
  // The default for variables of this scope and those within.
  VariableScope WithInitializer(Initializer initializer) const;

  const Scope& scope() const { return scope_; }
  const std::string& name() const { return name_; }  // "" or "a/b"

  // InvalidArgument: it is there and the scope does not reuse; it is not there and the scope must; it has another shape or
  // type. Adds a new one to the collections "variables" and, if trainable, "trainable_variables".
  GraphVariable Get(absl::string_view name, const Shape& shape, const VariableOptions& options = {}) const;

 private:
  struct Store;
  GraphVariable Make(const std::string& name, const Shape& shape, const VariableOptions& options) const;
  GraphVariable Found(const std::string& name, const GraphVariable& variable, const Shape& shape, DType dtype) const;

  Scope scope_;
  std::shared_ptr<Store> store_;
  std::string name_;
  Reuse reuse_ = Reuse::kNo;
  Initializer initializer_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_VARIABLE_SCOPE_H_
