// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"

namespace millstream::cli {
namespace {

StatusOr<ModeGraph> BuildAsync(const ModeInputs& in) {
  ModeGraph graph;
  ASSIGN_OR_RETURN(graph.optimizer, MakeOptimizer(in.optimizer, in.learning_rate));
  graph.train_op = graph.optimizer->Minimize(in.scope, in.loss, in.global_step);
  return graph;
}

const Registration<Mode> kAsyncMode({
    .name = "async",
    .help = "each worker's gradients are applied as soon as they arrive",
    .is_default = true,
    .build = BuildAsync,
});

}  // namespace
}  // namespace millstream::cli
