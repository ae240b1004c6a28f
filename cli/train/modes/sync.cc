// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"

namespace millstream::cli {
namespace {

StatusOr<ModeGraph> Build(const ModeInputs& in) {
  const int workers = in.options.workers;
  SyncReplicasOptimizer::Options options;
  options.replicas_to_aggregate = in.options.replicas_to_aggregate > 0 ? in.options.replicas_to_aggregate : workers;
  options.total_num_replicas = workers;
  if (options.replicas_to_aggregate > workers) {
    return errors::InvalidArgument("--replicas_to_aggregate ", options.replicas_to_aggregate, " is more than the ",
                                   workers, " workers");
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Optimizer> inner, MakeOptimizer(in.options.optimizer, in.options.learning_rate));
  const auto optimizer = std::make_shared<SyncReplicasOptimizer>(std::move(inner), options);
  ModeGraph graph;
  graph.optimizer = optimizer;
  graph.train_op = optimizer->Minimize(in.scope, in.loss, in.global_step);
  RETURN_IF_ERROR(in.scope.status());
  graph.hooks.push_back(optimizer->MakeSessionRunHook(in.is_chief));
  return graph;
}

}  // namespace

extern const Mode kSync = {
    .name = "sync",
    .help = "one update from the mean of the workers' gradients (--replicas_to_aggregate)",
    .plain_gradient_descent = false,
    .build = Build,
};

}  // namespace millstream::cli
