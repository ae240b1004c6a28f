// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_CONTROL_FLOW_CONTROL_FLOW_BUILDERS_H_
#define MILLSTREAM_GRAPH_CONTROL_FLOW_CONTROL_FLOW_BUILDERS_H_

#include <functional>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

struct WhileOptions {
  std::string name = "while";
  int64_t parallel_iterations = 10;
  Output maximum_iterations = {};              // a scalar of type int32 or int64; none: no limit
  bool swap_memory = false;                    // accepted; values stay where they are
  std::vector<PartialShape> shape_invariants;  // empty: the shapes of the initial values
};

// Called once, when the loop is built, with a scope for the nodes inside and the current values. They may use values
// from outside; those become constants of the loop.
using LoopCondFn = std::function<Output(const Scope&, const std::vector<Output>&)>;
using LoopBodyFn = std::function<std::vector<Output>(const Scope&, const std::vector<Output>&)>;

// while (cond(vars)) vars = body(vars); returns the final values. Empty after an error, which is in scope.status():
// InvalidArgument if the body changes number, types or shapes of the variables.
std::vector<Output> WhileLoop(const Scope& scope, const LoopCondFn& cond, const LoopBodyFn& body,
                              const std::vector<Output>& loop_vars, const WhileOptions& options = {});

using BranchFn = std::function<std::vector<Output>(const Scope&)>;

// pred ? then_fn() : else_fn(). Nodes of a branch run only if it is taken; values from outside that they use pass a
// Switch.
std::vector<Output> Cond(const Scope& scope, Output pred, const BranchFn& then_fn, const BranchFn& else_fn,
                         absl::string_view name = "cond");

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_CONTROL_FLOW_CONTROL_FLOW_BUILDERS_H_
