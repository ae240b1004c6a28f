// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_OPTIMIZER_H_

#include <map>
#include <string>
#include <vector>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/variables/variables.h"

namespace millstream {

// A number of an optimizer: fixed, or a scalar that each step computes (a learning rate that decays).
class Hyperparameter {
 public:
  Hyperparameter(double value) : value_(value) {}     // NOLINT(google-explicit-constructor)
  Hyperparameter(Output tensor) : tensor_(tensor) {}  // NOLINT(google-explicit-constructor)
  // The scalar; a number becomes a float constant `name` of the scope.
  Output ToOutput(const Scope& scope, absl::string_view name) const;
  bool is_tensor() const { return static_cast<bool>(tensor_); }
  double value() const { return value_; }

 private:
  double value_ = 0;
  Output tensor_;
};

struct GradientAndVariable {
  Grad gradient;  // none: the variable is left as it is
  GraphVariable variable;
};

// How a slot begins: by an initializer, or with a tensor.
struct InitialValue {
  InitialValue(Initializer i) : initializer(std::move(i)) {}  // NOLINT(google-explicit-constructor)
  InitialValue(Output v) : value(v) {}                        // NOLINT(google-explicit-constructor)
  Initializer initializer;
  Output value;
};

// When the first gradient of a step may be used: at once; when all gradients of the same op are there; when all are.
enum class GateGradients { kNone, kOp, kGraph };

struct ComputeGradientsOptions {
  std::vector<GraphVariable> variables = {};  // none: the trainable ones
  GateGradients gate = GateGradients::kOp;
  GradientOptions::Aggregation aggregation = GradientOptions::Aggregation::kAddN;
  bool colocate_gradients_with_ops = false;
  Output grad_loss = {};  // the gradient that arrives at the loss; none: ones
};

struct ApplyGradientsOptions {
  GraphVariable global_step = {};  // none, or one that counts the updates
  std::string name = {};           // of the train op; none: the optimizer's
  // Whether global_step also counts a step whose gradients an optimizer does not apply.
  bool counts_skipped_steps = false;
};

// Gradients, slots and the train op, as TensorFlow's base class of optimizers. A subclass says what one update of one
// variable is. Nodes and variables have the names that TensorFlow gives them, so that checkpoints fit. An optimizer
// belongs to one graph; its methods may be called for several towers, whose updates share slots. Errors go to the
// scope's status. Not thread-safe.
class Optimizer {
 public:
  Optimizer(std::string name, bool use_locking) : name_(std::move(name)), use_locking_(use_locking) {}
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::string& name() const { return name_; }

  // ComputeGradients() and ApplyGradients(). InvalidArgument if the loss depends on no variable. Returns the train op:
  // null after an error.
  Node* Minimize(const Scope& scope, Output loss, const GraphVariable& global_step = {},
                 const ComputeGradientsOptions& options = {}, const std::string& name = "");
  virtual std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, Output loss,
                                                            const ComputeGradientsOptions& options = {});
  // An update of each variable that has a gradient, on the variable's device; then of the step. It is added to the
  // collection "train_op".
  virtual Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                               const ApplyGradientsOptions& options = {});

  // What the optimizer keeps for a variable: an empty one if there is no such slot.
  virtual GraphVariable Slot(const GraphVariable& v, const std::string& slot) const;
  virtual std::vector<std::string> SlotNames() const;
  // All its own variables, by name.
  virtual std::vector<GraphVariable> Variables() const;

 protected:
  bool use_locking() const { return use_locking_; }

  // Called once before updates: outside of control dependencies, and in the scope of the train op.
  virtual void CreateSlots(const Scope& /*scope*/, const std::vector<GraphVariable>& /*variables*/) {}
  virtual void Prepare(const Scope& /*scope*/) {}
  // One update, in a scope beside the variable.
  virtual Node* ApplyDense(const Scope& scope, Output gradient, const GraphVariable& v) = 0;
  // The same for some rows, each of which occurs once.
  virtual Node* ApplySparse(const Scope& scope, Output values, Output indices, const GraphVariable& v) = 0;
  // Rows may occur several times: sums them, then ApplySparse(). For optimizers that need not sum.
  virtual Node* ApplySparseDuplicates(const Scope& scope, Output values, Output indices, const GraphVariable& v);
  // One node after all updates; `name` as Group() takes it.
  virtual Node* Finish(const Scope& scope, const std::vector<Node*>& updates, absl::string_view name);

  // The slot of `v`, made at first as a variable "<v>/<op_name>" beside it.
  GraphVariable MakeSlot(const Scope& scope, const GraphVariable& v, const std::string& slot,
                         const std::string& op_name, const InitialValue& initial);
  // A scalar of the optimizer that belongs to no variable, made at first beside `beside`.
  GraphVariable MakeNonSlot(const Scope& scope, const std::string& name, double initial, const GraphVariable& beside);
  // An empty one before it was made.
  GraphVariable NonSlot(const std::string& name) const;

 private:
  Node* ApplyOne(const Scope& scope, const GradientAndVariable& g);
  Node* Count(const Scope& scope, const GraphVariable& global_step, const std::vector<Node*>& updates);

  std::string name_;
  bool use_locking_;
  std::map<std::string, std::map<std::string, GraphVariable>> slots_;  // by slot, then by the variable's name
  std::map<std::string, GraphVariable> non_slots_;
};

// A variable with the name of `v` and then `name` (made unique), colocated with it unless that is not wanted: what
// optimizers and averages keep for it.
GraphVariable MakeSlotVariable(const Scope& scope, const GraphVariable& v, const std::string& name,
                               const InitialValue& initial, bool colocate = true);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_OPTIMIZER_H_
