// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_OPTIONS_H_
#define MILLSTREAM_CLI_TRAIN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/cluster_flags.h"
#include "cli/train/settings/own_flags.h"
#include "millstream/base/status.h"

namespace CLI {
class App;
}

namespace millstream::cli {

struct Mode;
struct Model;

// The flags of `millstream train`. Zero and "" mean "as the model wants it" until Resolve().
struct TrainOptions {
  std::string model, mode, optimizer;
  GivenFlags own;  // flags that models and modes have declared
  int ps = 1, workers = 2;
  int64_t batch_size = 0, train_steps = 0;
  double learning_rate = 0;
  std::string data_dir, label_column;
  std::vector<std::string> missing_values, category_columns;
  std::string logdir;
  bool no_logdir = false;   // nothing is written
  bool new_logdir = false;  // `logdir` was not given, and is not there yet
  int64_t seed = 1;
  int64_t eval_steps = 0;  // between evaluations; 0: at the end only
  double save_checkpoint_secs = 600;
  int max_restarts = 0;
  int threads = 0;                 // of each task; 0: its share of the cores
  std::optional<int> status_port;  // of the chief; none: any free one for a whole job, no page for a single task
  bool json = false;

  // One task of a cluster that is spread over machines, rather than all of them here.
  ClusterFlags cluster;
  std::string job_name;
  int task_index = -1;

  std::set<std::string> given;  // names of the flags that were given, without hyphens

  void AddTo(CLI::App& app);
  // Checks that the flags go together and that each of them is used, and fills in what was not given. `is_task`: one
  // task of a cluster is meant. InvalidArgument.
  Status Resolve(bool is_task);
  // Flags that give a task these options. REQUIRES: Resolve() was OK.
  std::vector<std::string> ToArguments() const;

 private:
  Status ChoosePs(const Mode& mode);
  Status ChooseOptimizer(const Model& model, const Mode& mode);
  Status FindData();
};

// A flag that the model, the mode or the way of running has no use for is InvalidArgument: it would be ignored
// silently otherwise.
Status CheckFlagsAreUsed(const TrainOptions& options, bool is_task);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_OPTIONS_H_
