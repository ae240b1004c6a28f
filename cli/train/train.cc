// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/train/job.h"
#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
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
  if (const Status status = options.Resolve(task); !status.ok()) return FailFlags(status);
  return task ? RunTrainingTask(options) : RunTrainingJob(options);
}

Command::Run AddTrainFlags(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  options->AddTo(app);
  std::string description = absl::StrCat(app.get_description(), "\nExamples: millstream train");
  const auto add_example = [&](const std::string& flags) {
    if (!flags.empty()) absl::StrAppend(&description, "\n          millstream train ", flags);
  };
  for (const Model* model : Registry<Model>::All()) add_example(model->example);
  for (const Mode* mode : Registry<Mode>::All()) add_example(mode->example);
  add_example("--ps_hosts=a:2222 --worker_hosts=b:2222,c:2222 --job_name=worker --task_index=0");
  app.description(description);
  return [options, &app] {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() > 0 && !option->get_lnames().empty()) options->given.insert(option->get_lnames()[0]);
    }
    return RunTrain(*options);
  };
}

const Registration<Command> kTrainCommand({
    .name = "train",
    .group = Command::Group::kJobs,
    .help = "Train a built-in model on this machine: starts parameter servers and workers, shows progress.\n"
            "With --job_name it is one task of a cluster on several machines.",
    .add_flags = AddTrainFlags,
});

}  // namespace
}  // namespace millstream::cli
