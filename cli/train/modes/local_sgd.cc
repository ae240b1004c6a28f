// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/train/collectives/distributed_optimizer.h"
#include "millstream/train/collectives/local_sgd_optimizer.h"

namespace millstream::cli {
namespace {

constexpr char kAverageEvery[] = "average_every";

StatusOr<ModeGraph> BuildLocalSgd(const ModeInputs& in) {
  const auto group = std::make_shared<CollectiveGroup>(in.num_workers);
  ASSIGN_OR_RETURN(std::shared_ptr<Optimizer> inner, MakeOptimizer(in.optimizer, in.learning_rate));
  const auto optimizer = std::make_shared<LocalSgdOptimizer>(std::move(inner), group, in.flags.Integer(kAverageEvery));
  ModeGraph graph;
  graph.optimizer = optimizer;
  graph.train_op = optimizer->Minimize(in.scope, in.loss, in.global_step);
  graph.periodic = {optimizer->AverageOp(in.scope), optimizer->average_every()};
  RETURN_IF_ERROR(in.scope.status());
  graph.hooks.push_back(MakeBroadcastVariablesHook(group, in.is_chief));
  return graph;
}

const Registration<Mode> kLocalSgdMode({
    .name = "local-sgd",
    .help =
        "no ps tasks: every worker trains on its own, and every few steps all variables become their means over the "
        "workers",
    .example = "--mode local-sgd --average_every 20 --workers 4",
    .own_variables = true,
    .flags = {{.name = kAverageEvery, .default_value = "10", .help = "steps between two averages"}},
    .build = BuildLocalSgd,
});

}  // namespace
}  // namespace millstream::cli
