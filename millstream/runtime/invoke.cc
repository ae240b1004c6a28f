// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/invoke.h"

#include "absl/strings/match.h"

namespace millstream {

Status ReadReferences(const Plan& plan, const PlanNode& node, Entry* const* inputs, Tensor* values) {
  for (int i = 0; i < node.num_inputs; ++i) {
    const Entry* e = inputs[i];
    if (!e->ref || !plan.reads_reference[node.inputs + i]) continue;
    values[i] = e->ref->Snapshot();
    if (!values[i].IsInitialized() && !node.node->op().def.allows_uninitialized_input) {
      return errors::FailedPrecondition("Attempting to use uninitialized value ", e->ref->name());
    }
  }
  return OkStatus();
}

Status AtNode(const Status& status, const Node& node) {
  // An assertion may print gigabytes, and a name may be as long as a program: the error has to travel, and to be read.
  constexpr size_t kMaxMessage = 256 << 10, kMaxName = 2048;
  const absl::string_view message = status.message().substr(0, kMaxMessage);
  if (absl::StrContains(message, "{{node ") && message.size() == status.message().size())
    return status;  // named where it came from
  Status named(status.code(),
               absl::StrCat(message, message.size() < status.message().size() ? "..." : "", "\n\t [[{{node ",
                            absl::string_view(node.name()).substr(0, kMaxName), "}}]]"));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

Status CheckOutputs(const Plan& plan, const PlanNode& node, const Entry* outputs) {
  for (int i = 0; i < node.num_outputs; ++i) {
    const Entry& e = outputs[i];
    if (!e.tensor.IsInitialized()) {
      if (e.ref || e.dead) continue;
      return errors::Internal("Missing ", i, "-th output from {{node ", node.node->name(), "}}");
    }
    const DType declared = RemoveRef(plan.slot_types[node.outputs + i]);
    if (e.tensor.dtype() != declared) {
      return errors::InvalidArgument("Output ", i, " of {{node ", node.node->name(), "}} has type ",
                                     DTypeName(e.tensor.dtype()), ", but its op declares ", DTypeName(declared));
    }
  }
  return OkStatus();
}

}  // namespace millstream
