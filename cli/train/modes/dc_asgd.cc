// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"
#include "millstream/train/optimizers/delay_compensated_gradient_descent.h"

namespace millstream::cli {
namespace {

StatusOr<ModeGraph> BuildDcAsgd(const ModeInputs& in) {
  ModeGraph graph;
  DelayCompensatedGradientDescentOptimizer::Options options;
  options.num_workers = in.num_workers;
  options.worker_index = in.worker_index;
  graph.optimizer = std::make_shared<DelayCompensatedGradientDescentOptimizer>(in.learning_rate,
                                                                               in.flags.Number("dc_lambda"), options);
  graph.train_op = graph.optimizer->Minimize(in.scope, in.loss, in.global_step);
  return graph;
}

const Registration<Mode> kDcAsgdMode({
    .name = "dc-asgd",
    .help = "asynchronous, with gradients corrected for the updates that other workers made meanwhile; it is gradient "
            "descent itself and takes no other optimizer",
    .plain_gradient_descent = true,
    .flags = {{.name = "dc_lambda",
               .type = OwnFlag::Type::kNumberFromZero,
               .default_value = "0.04",
               .help = "weight of the delay compensation"}},
    .build = BuildDcAsgd,
});

}  // namespace
}  // namespace millstream::cli
