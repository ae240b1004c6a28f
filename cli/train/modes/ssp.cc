// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/train/stale_synchronous/stale_synchronous_optimizer.h"

namespace millstream::cli {
namespace {

constexpr char kStaleness[] = "staleness";

StatusOr<ModeGraph> BuildSsp(const ModeInputs& in) {
  StaleSynchronousOptimizer::Options options;
  options.staleness = static_cast<int>(in.flags.Integer(kStaleness));
  options.num_workers = in.num_workers;
  options.worker_index = in.worker_index;
  ASSIGN_OR_RETURN(std::shared_ptr<Optimizer> inner, MakeOptimizer(in.optimizer, in.learning_rate));
  const auto optimizer = std::make_shared<StaleSynchronousOptimizer>(std::move(inner), options);
  ModeGraph graph;
  graph.optimizer = optimizer;
  graph.train_op = optimizer->Minimize(in.scope, in.loss, in.global_step);
  RETURN_IF_ERROR(in.scope.status());
  graph.hooks.push_back(optimizer->MakeSessionRunHook());
  return graph;
}

const Registration<Mode> kSspMode({
    .name = "ssp",
    .help = "stale synchronous parallel: asynchronous, but no worker may be more than a few steps ahead of the slowest "
            "one",
    .example = "--mode ssp --staleness 4 --workers 4",
    .flags = {{.name = kStaleness,
               .type = OwnFlag::Type::kIntegerFromZero,
               .default_value = "3",
               .help = "by how many steps a worker may be ahead of the slowest one; 0: all make their steps together"}},
    .build = BuildSsp,
});

}  // namespace
}  // namespace millstream::cli
