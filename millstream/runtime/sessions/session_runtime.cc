// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/session_runtime.h"

#include "millstream/graph/passes/rewrite_with_precision.h"
#include "millstream/graph/placement/placement.h"
#include "millstream/runtime/sessions/mixed_precision_config.h"

namespace millstream {

SessionRuntime::SessionRuntime(const SessionOptions& options, Environment environment)
    : options_(options),
      environment_(std::move(environment)),
      kernels_(environment_.resources, nullptr),
      functions_(environment_.library, MakeCompileOptions(), [this](PrunedGraph* body) {
        RETURN_IF_ERROR(PlaceFunction(body));
        return RewriteGraph(options_.rewrite, MixedPrecisionOf(options_), body);
      }) {
  kernels_.set_functions(&functions_);
}

CompileOptions SessionRuntime::MakeCompileOptions() {
  CompileOptions options;
  options.kernels = &kernels_;
  options.find_device = [this](absl::string_view name) { return environment_.devices->Find(name); };
  options.has_accelerators = environment_.devices->has_accelerators();
  options.inter_op_threads = environment_.inter_op_threads;
  return options;
}

Status SessionRuntime::Place(bool allow_soft_placement, PrunedGraph* part) const {
  return PlaceGraph(devices().attributes(), {.allow_soft_placement = allow_soft_placement}, part->graph.get());
}

Status SessionRuntime::PlaceFunction(PrunedGraph* body) const {
  if (environment_.function_placement == FunctionPlacement::kAsAsked) return Place(options_.allow_soft_placement, body);
  for (const auto& node : body->graph->nodes()) {
    if (node != nullptr) node->set_device("");
  }
  return Place(/*allow_soft_placement=*/true, body);
}

StatusOr<std::shared_ptr<const Plan>> SessionRuntime::CompilePlaced(PrunedGraph part,
                                                                    decltype(CompileOptions::wrap) wrap) {
  RETURN_IF_ERROR(RewriteGraph(options_.rewrite, MixedPrecisionOf(options_), &part));
  CompileOptions options = MakeCompileOptions();
  options.wrap = std::move(wrap);
  return Compile(std::move(part), options);
}

StatusOr<std::shared_ptr<const Plan>> SessionRuntime::PlaceAndCompile(PrunedGraph part) {
  RETURN_IF_ERROR(Place(options_.allow_soft_placement, &part));
  return CompilePlaced(std::move(part));
}

StepContext SessionRuntime::NewStep() {
  StepContext step;
  step.resources = environment_.resources;
  step.functions = &functions_;
  step.pool = environment_.pool;
  return step;
}

}  // namespace millstream
