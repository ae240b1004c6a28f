// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "millstream/train/optimizers/delay_compensated_gradient_descent.h"

namespace millstream::cli {
namespace {

StatusOr<ModeGraph> Build(const ModeInputs& in) {
  ModeGraph graph;
  DelayCompensatedGradientDescentOptimizer::Options options;
  options.num_workers = in.options.workers;
  options.worker_index = in.task_index;
  graph.optimizer = std::make_shared<DelayCompensatedGradientDescentOptimizer>(in.options.learning_rate,
                                                                               in.options.dc_lambda, options);
  graph.train_op = graph.optimizer->Minimize(in.scope, in.loss, in.global_step);
  return graph;
}

}  // namespace

extern const Mode kDcAsgd = {
    .name = "dc-asgd",
    .help = "as async, with gradients corrected for what others did meanwhile (--dc_lambda)",
    .plain_gradient_descent = true,
    .build = Build,
};

}  // namespace millstream::cli
