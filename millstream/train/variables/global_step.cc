// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/variables/global_step.h"

#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

void CheckGlobalStep(const Scope& scope, const GraphVariable& step) {
  const DType dtype = TypeOf(step);
  if (!IsInteger(dtype) && !IsFloating(dtype)) {
    scope.Fail(errors::InvalidArgument("Existing \"global_step\" does not have integer type: ", DTypeName(dtype)));
  } else if (step.shape.IsFullyDefined() && step.shape.num_elements() != 1) {
    scope.Fail(errors::InvalidArgument("Existing \"global_step\" is not scalar: ", step.shape.ToString()));
  }
}

}  // namespace

GraphVariable GetGlobalStep(const Scope& scope) {
  if (!scope.ok()) return {};
  const std::vector<Output>& found = scope.Collection(graph_keys::kGlobalStep);
  if (found.size() > 1) {
    scope.Fail(errors::InvalidArgument("Multiple tensors in global_step collection."));
    return {};
  }
  Node* node = found.empty() ? scope.graph()->Find(graph_keys::kGlobalStep) : found[0].node;
  if (node == nullptr || !IsA(*node, OpKind::kVariable)) return {};
  GraphVariable step = FindVariable(scope, Output(node));
  if (scope.ok()) CheckGlobalStep(scope, step);
  return step;
}

GraphVariable CreateGlobalStep(const VariableScope& variables) {
  if (GetGlobalStep(variables.scope())) {
    variables.scope().Fail(errors::InvalidArgument("\"global_step\" already exists."));
    return {};
  }
  VariableOptions options;
  options.dtype = DType::kInt64;
  options.initializer = ZerosInitializer();
  options.trainable = false;
  options.collections = {graph_keys::kGlobalVariables, graph_keys::kGlobalStep};
  return variables.AtRoot().Get(graph_keys::kGlobalStep, Shape(), options);
}

GraphVariable GetOrCreateGlobalStep(const VariableScope& variables) {
  const GraphVariable found = GetGlobalStep(variables.scope());
  return found ? found : CreateGlobalStep(variables);
}

GraphVariable GetOrCreateGlobalStep(const Scope& scope) { return GetOrCreateGlobalStep(VariableScope(scope)); }

}  // namespace millstream
