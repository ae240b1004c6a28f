// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_MODES_MODE_H_
#define MILLSTREAM_CLI_TRAIN_MODES_MODE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/train/options.h"
#include "millstream/graph/variables/variable_scope.h"
#include "millstream/train/optimizers/optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream::cli {

// What a mode is given: the model's loss in a graph whose variables lie on the ps tasks, and which worker this is.
struct ModeInputs {
  const TrainOptions& options;
  Scope scope;
  Output loss;
  GraphVariable global_step;
  int task_index = 0;
  bool is_chief = false;
};

// What a mode adds to the graph.
struct ModeGraph {
  Node* train_op = nullptr;
  std::vector<std::shared_ptr<SessionRunHook>> hooks;
  std::shared_ptr<Optimizer> optimizer;  // kept as long as the session
};

// How the workers' gradients become updates: one file with a function, and a line in modes.cc.
struct Mode {
  const char* name;
  const char* help;
  bool plain_gradient_descent;  // the mode is its own optimizer and takes no other
  StatusOr<ModeGraph> (*build)(const ModeInputs& inputs);
};

std::span<const Mode* const> AllModes();
// InvalidArgument names those that there are.
StatusOr<const Mode*> FindMode(const std::string& name);

// sgd, momentum, adagrad, adam, rmsprop, ftrl. InvalidArgument names them.
StatusOr<std::shared_ptr<Optimizer>> MakeOptimizer(const std::string& name, double learning_rate);
std::vector<std::string> OptimizerNames();

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_MODES_MODE_H_
