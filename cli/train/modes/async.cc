// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"

namespace millstream::cli {
namespace {

StatusOr<ModeGraph> Build(const ModeInputs& in) {
  ModeGraph graph;
  ASSIGN_OR_RETURN(graph.optimizer, MakeOptimizer(in.options.optimizer, in.options.learning_rate));
  graph.train_op = graph.optimizer->Minimize(in.scope, in.loss, in.global_step);
  return graph;
}

}  // namespace

extern const Mode kAsync = {
    .name = "async",
    .help = "each worker's gradients are applied at once",
    .plain_gradient_descent = false,
    .build = Build,
};

}  // namespace millstream::cli
