// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/train/collectives/hierarchical_optimizer.h"

namespace millstream::cli {
namespace {

constexpr char kGroupSize[] = "group_size";

Status CheckHierarchical(const OwnFlagValues& flags, int num_workers) {
  return CheckAtMostWorkers(flags, kGroupSize, num_workers);
}

StatusOr<ModeGraph> BuildHierarchical(const ModeInputs& in) {
  HierarchicalOptimizer::Options options;
  options.worker_index = in.worker_index;
  options.group_sizes = in.flags.Has(kGroupSize)
                            ? EqualGroups(in.num_workers, static_cast<int>(in.flags.Integer(kGroupSize)))
                            : GroupsOfHosts(in.worker_hosts);
  ASSIGN_OR_RETURN(std::shared_ptr<Optimizer> inner, MakeOptimizer(in.optimizer, in.learning_rate));
  const auto optimizer = std::make_shared<HierarchicalOptimizer>(std::move(inner), options);
  ModeGraph graph;
  graph.optimizer = optimizer;
  graph.train_op = optimizer->Minimize(in.scope, in.loss, in.global_step);
  RETURN_IF_ERROR(in.scope.status());
  graph.group_step = optimizer->step();
  graph.hooks.push_back(optimizer->MakeSessionRunHook());
  return graph;
}

const Registration<Mode> kHierarchicalMode({
    .name = "hierarchical",
    .help = "groups of workers, usually those of one host, all-reduce their gradients; the first worker of each group "
            "applies the means as soon as they are there, whatever other groups do",
    .example = "--mode hierarchical --group_size 2 --workers 4",
    .flags = {{.name = kGroupSize, .help = "workers in a group (default: those that follow each other on one host)"}},
    .check = CheckHierarchical,
    .build = BuildHierarchical,
});

}  // namespace
}  // namespace millstream::cli
