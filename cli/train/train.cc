// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/train/job.h"
#include "cli/train/options.h"
#include "cli/train/task.h"

namespace millstream::cli {
namespace {

// One task of a cluster, if a flag or the environment says which one.
bool IsTask(const TrainOptions& options) {
  if (!options.job_name.empty()) return true;
  const StatusOr<TfConfig> config = TfConfig::FromEnvironment();
  return config.ok() && !config->job.empty();
}

int RunTrain(TrainOptions options) {
  const bool task = IsTask(options);
  if (const Status status = options.Resolve(); !status.ok()) return Fail(status);
  return task ? RunTrainingTask(options) : RunTrainingJob(options);
}

}  // namespace

void AddTrainCommand(CLI::App& app, int* status) {
  auto* command = app.add_subcommand(
      "train",
      "Train a built-in model on this machine: starts parameter servers and workers, shows how it goes.\n"
      "Examples: millstream train\n"
      "          millstream train --model lenet --mode sync --workers 4 --logdir /tmp/lenet\n"
      "          millstream train --model wide-deep --data_dir people.csv --label_column income\n"
      "With --job_name it is one task of a cluster on several machines:\n"
      "          millstream train --ps_hosts=a:2222 --worker_hosts=b:2222,c:2222 --job_name=worker --task_index=0");
  auto options = std::make_shared<TrainOptions>();
  options->AddTo(*command);
  command->callback([options, status] { *status = RunTrain(*options); });
}

}  // namespace millstream::cli
