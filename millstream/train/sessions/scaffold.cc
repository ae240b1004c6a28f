// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/scaffold.h"

#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

// Nodes that belong to the whole graph: outside of name scopes, devices apart.
Scope AtRoot(const Scope& scope) { return scope.NameScope("").WithNoControlDependencies(); }

void AddCollectionTo(const Scope& scope, const char* collection, std::vector<Node*>* nodes) {
  for (const Output& item : scope.Collection(collection)) nodes->push_back(item.node);
}

Node* MakeInitOp(const Scope& s) {
  std::vector<Node*> nodes = {GlobalVariablesInitializer(s)};
  AddCollectionTo(s, graph_keys::kResourceInitializers, &nodes);
  return Group(s, nodes);
}

Node* MakeLocalInitOp(const Scope& s) {
  std::vector<Node*> nodes = {LocalVariablesInitializer(s)};
  AddCollectionTo(s, graph_keys::kTableInitializers, &nodes);
  return Group(s, nodes);
}

Output MakeReadyOp(const Scope& s) {
  std::vector<Output> variables = s.Collection(graph_keys::kGlobalVariables);
  const std::vector<Output>& local = s.Collection(graph_keys::kLocalVariables);
  variables.insert(variables.end(), local.begin(), local.end());
  return ReportUninitializedVariables(s, variables);
}

}  // namespace

namespace internal {

StatusOr<Output> GetOrMake(const Scope& scope, const char* argument, const char* collection,
                           const std::function<Output()>& make) {
  const std::vector<Output>& found = scope.Collection(collection);
  if (found.size() > 1) {
    return errors::FailedPrecondition("More than one item in the collection \"", collection,
                                      "\". Please indicate which one to use by setting it: ", argument);
  }
  if (!found.empty()) return found[0];
  const Output made = make();
  RETURN_IF_ERROR(scope.status());
  if (made) scope.AddToCollection(collection, made);
  return made;
}

}  // namespace internal

Output MergeAllSummaries(const Scope& scope) {
  const std::vector<Output>& summaries = scope.Collection(graph_keys::kSummaries);
  if (summaries.empty()) return {};
  return scope.NameScope("Merge/").WithOpName("MergeSummary").Op("MergeSummary", summaries);
}

Status Scaffold::Finalize(const Scope& scope) {
  using internal::GetOrMake;
  RETURN_IF_ERROR(scope.status());
  const Scope s = AtRoot(scope);
  if (init_op == nullptr) {
    ASSIGN_OR_RETURN(const Output op,
                     GetOrMake(s, "init_op", graph_keys::kInitOp, [&] { return Output(MakeInitOp(s)); }));
    init_op = op.node;
  }
  if (!ready_op) {
    ASSIGN_OR_RETURN(ready_op, GetOrMake(s, "ready_op", graph_keys::kReadyOp, [&] { return MakeReadyOp(s); }));
  }
  if (!ready_for_local_init_op) {
    const auto make = [&] {
      uninitialized_op = ReportUninitializedVariables(s, s.Collection(graph_keys::kGlobalVariables));
      return uninitialized_op;
    };
    ASSIGN_OR_RETURN(ready_for_local_init_op,
                     GetOrMake(s, "ready_for_local_init_op", graph_keys::kReadyForLocalInitOp, make));
  }
  if (!uninitialized_op) {  // the program's own op may say something else
    uninitialized_op =
        ReportUninitializedVariables(s, s.Collection(graph_keys::kGlobalVariables), "report_live_variables");
  }
  if (local_init_op == nullptr) {
    const auto make = [&] { return Output(MakeLocalInitOp(s)); };
    ASSIGN_OR_RETURN(const Output op, GetOrMake(s, "local_init_op", graph_keys::kLocalInitOp, make));
    local_init_op = op.node;
  }
  if (!summary_op) {
    ASSIGN_OR_RETURN(summary_op,
                     GetOrMake(s, "summary_op", graph_keys::kSummaryOp, [&] { return MergeAllSummaries(s); }));
  }
  if (saver == nullptr) {
    SaverOptions options;
    options.sharded = options.allow_empty = true;
    options.background = saves_in_background;
    ASSIGN_OR_RETURN(saver, Saver::Make(s, options));
  }
  return s.status();
}

}  // namespace millstream
