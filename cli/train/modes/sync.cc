// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"

namespace millstream::cli {
namespace {

constexpr char kReplicas[] = "replicas_to_aggregate";

Status CheckSync(const OwnFlagValues& flags, int num_workers) {
  return CheckAtMostWorkers(flags, kReplicas, num_workers);
}

StatusOr<ModeGraph> BuildSync(const ModeInputs& in) {
  SyncReplicasOptimizer::Options options;
  options.replicas_to_aggregate =
      in.flags.Has(kReplicas) ? static_cast<int>(in.flags.Integer(kReplicas)) : in.num_workers;
  options.total_num_replicas = in.num_workers;
  ASSIGN_OR_RETURN(std::shared_ptr<Optimizer> inner, MakeOptimizer(in.optimizer, in.learning_rate));
  const auto optimizer = std::make_shared<SyncReplicasOptimizer>(std::move(inner), options);
  ModeGraph graph;
  graph.optimizer = optimizer;
  graph.train_op = optimizer->Minimize(in.scope, in.loss, in.global_step);
  RETURN_IF_ERROR(in.scope.status());
  graph.hooks.push_back(optimizer->MakeSessionRunHook(in.is_chief));
  return graph;
}

const Registration<Mode> kSyncMode({
    .name = "sync",
    .help = "one update from the mean of the workers' gradients",
    .example = "--mode sync --ps 2 --workers 4",
    .flags = {{.name = kReplicas,
               .help = "gradients per update (default: one of each worker); with fewer than workers the others are "
                       "backups, and late gradients are dropped"}},
    .check = CheckSync,
    .build = BuildSync,
});

}  // namespace
}  // namespace millstream::cli
