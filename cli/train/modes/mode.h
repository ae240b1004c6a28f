// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_MODES_MODE_H_
#define MILLSTREAM_CLI_TRAIN_MODES_MODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/registry.h"
#include "cli/train/settings/own_flags.h"
#include "millstream/graph/variables/variable_scope.h"
#include "millstream/train/optimizers/optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream::cli {

// What a mode is given: the model's loss in a graph whose variables lie on the ps tasks (or, if the mode wants that, on
// this worker), and which worker this is.
struct ModeInputs {
  Scope scope = Scope::Root();
  Output loss = {};
  GraphVariable global_step = {};
  std::string optimizer = {};
  double learning_rate = 0;
  OwnFlagValues flags = {};  // the mode's own
  int num_workers = 1;
  int worker_index = 0;
  std::vector<std::string> worker_hosts = {};
  bool is_chief = false;
};

// What a mode adds to the graph.
struct ModeGraph {
  Node* train_op = nullptr;
  // Run by itself after each global step that is a multiple of `every`, and after the last one; null: none.
  struct Periodic {
    Node* op = nullptr;
    int64_t every = 1;
  };
  Periodic periodic = {};
  // What the workers of a group know of the global step, the same for all of them, where they have to end together; it
  // is set by a hook when a session has been made, and by the train op. Empty: the global step itself.
  GraphVariable group_step = {};
  std::vector<std::shared_ptr<SessionRunHook>> hooks;
  std::shared_ptr<Optimizer> optimizer;  // kept as long as the session
};

// How the workers' gradients become updates: one file in this folder that registers it (cli/registry.h).
struct Mode {
  static constexpr char kKind[] = "mode";
  std::string name = {};
  std::string help = {};                // one line
  std::string example = {};             // flags of `millstream train` worth showing; "": none
  bool is_default = false;              // one mode is used where none is named
  bool plain_gradient_descent = false;  // the mode is its own optimizer and takes no other
  bool own_variables = false;           // every worker has all variables, and there are no ps tasks
  std::vector<OwnFlag> flags = {};
  // InvalidArgument if flags and the number of workers do not go together; null: they always do.
  Status (*check)(const OwnFlagValues& flags, int num_workers) = nullptr;
  StatusOr<ModeGraph> (*build)(const ModeInputs& inputs) = nullptr;
};

const Mode& DefaultMode();

// For Mode::check. InvalidArgument if the flag, a number of workers, is given and larger than `num_workers`.
Status CheckAtMostWorkers(const OwnFlagValues& flags, const char* flag, int num_workers);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_MODES_MODE_H_
