// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_VARIABLES_VARIABLES_H_
#define MILLSTREAM_TRAIN_VARIABLES_VARIABLES_H_

#include <string>
#include <vector>

#include "millstream/graph/variables/variable_scope.h"

namespace millstream {

// Names of collections, as TensorFlow's GraphKeys has them.
namespace graph_keys {
inline constexpr char kGlobalVariables[] = "variables";
inline constexpr char kLocalVariables[] = "local_variables";
inline constexpr char kTrainableVariables[] = "trainable_variables";
inline constexpr char kMovingAverageVariables[] = "moving_average_variables";
inline constexpr char kGlobalStep[] = "global_step";
inline constexpr char kTrainOp[] = "train_op";
inline constexpr char kUpdateOps[] = "update_ops";
inline constexpr char kLosses[] = "losses";
inline constexpr char kRegularizationLosses[] = "regularization_losses";
inline constexpr char kModelVariables[] = "model_variables";
inline constexpr char kMetricVariables[] = "metric_variables";
inline constexpr char kSummaries[] = "summaries";
}  // namespace graph_keys

// The variable whose node gives `handle`: its value and initializer are found by their names, which every variable made
// here or by TensorFlow has. Where there is none, the value is the reference itself (or a new read), the initializer
// null.
GraphVariable FindVariable(const Scope& scope, Output handle);
// The variables of a collection.
std::vector<GraphVariable> VariablesIn(const Scope& scope, const std::string& collection);

inline bool IsResource(const GraphVariable& v) { return v.handle.dtype() == DType::kResource; }
// The type of its value, which is not that of a resource's handle.
inline DType TypeOf(const GraphVariable& v) { return v.value.dtype(); }

// The value when the scope's control dependencies are done, by new nodes: tf.Variable's read_value().
Output ReadVariable(const Scope& scope, const GraphVariable& v);
// The value as an op of this scope uses it: a resource is read by a new node, on its device.
Output UseVariable(const Scope& scope, const GraphVariable& v);
// The value if there is one already, else the initial value: for variables that begin as others do, initialized in one
// step with them.
Output InitializedValue(const Scope& scope, const GraphVariable& v);
// The value of a resource after `change`.
Output ReadAfter(const Scope& scope, const GraphVariable& v, Node* change);
// Changes it; gives the new value.
Output AssignVariable(const Scope& scope, const GraphVariable& v, Output value, bool use_locking = true);
Output AddToVariable(const Scope& scope, const GraphVariable& v, Output delta, bool use_locking = false);
Output SubtractFromVariable(const Scope& scope, const GraphVariable& v, Output delta, bool use_locking = false);

// A node that runs the initializers of these variables.
Node* VariablesInitializer(const Scope& scope, const std::vector<Output>& handles, absl::string_view name = "init");
inline Node* GlobalVariablesInitializer(const Scope& scope) {
  return VariablesInitializer(scope, scope.Collection(graph_keys::kGlobalVariables));
}
inline Node* LocalVariablesInitializer(const Scope& scope) {
  return VariablesInitializer(scope, scope.Collection(graph_keys::kLocalVariables));
}

// True, in a step, if it has a value.
Output IsVariableInitialized(const Scope& scope, Output handle);
// A vector of the names of those that have no value.
Output ReportUninitializedVariables(const Scope& scope, const std::vector<Output>& handles,
                                    absl::string_view name = "report_uninitialized_variables");

// A node that has run when all of these have, as tf.group(): for nodes on several devices it has a helper on each. Its
// name is `name` within the scope; a name that ends in "/" is taken as it is.
Node* Group(const Scope& scope, const std::vector<Node*>& nodes, absl::string_view name = "group_deps");

// `value` as that type.
Output CastTo(const Scope& scope, Output value, DType dtype);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_VARIABLES_VARIABLES_H_
