// SPDX-License-Identifier: Apache-2.0
#include "cli/train/job.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "cli/train/display.h"
#include "millstream/launch/job.h"

namespace millstream::cli {
namespace {

StatusOr<launch::JobOptions> MakeJob(const TrainOptions& options) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return errors::FailedPrecondition("cannot tell where this program is: ", error.message());
  launch::JobOptions job;
  job.ps = options.ps;
  job.workers = options.workers;
  job.max_restarts = options.max_restarts;
  job.command = {program.string(), "train", "--json"};
  for (std::string& argument : options.ToArguments()) job.command.push_back(std::move(argument));
  return job;
}

}  // namespace

int RunTrainingJob(TrainOptions options) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (options.threads == 0) options.threads = std::max(1, cores / options.workers);
  // What tasks tell each other about is not what people want to see here, unless they ask for it.
  setenv("MILLSTREAM_MIN_LOG_LEVEL", "1", /*overwrite=*/0);
  StatusOr<launch::JobOptions> job = MakeJob(options);
  if (!job.ok()) return Fail(job.status());
  std::vector<std::string> names;
  for (const launch::JobTask& task : launch::TasksOf(*job)) names.push_back(task.name());
  // Workers first: they are what people look at.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.rfind("worker", 0) == 0; });
  Display display(options, Display::ChooseStyle(options), names);

  launch::GroupOptions group;
  group.service_grace = std::chrono::milliseconds(0);
  group.tick = std::chrono::milliseconds(100);
  group.on_line = [&](const std::string& name, bool is_error, absl::string_view line) {
    const std::optional<TrainEvent> event = is_error ? std::nullopt : EventFromJson(line);
    if (event) {
      display.Handle(*event);
    } else {
      display.Print(absl::StrCat("[", name, "] ", line));
    }
  };
  group.on_note = [&](absl::string_view note) {
    if (!absl::StartsWith(note, "starting {")) display.Print(absl::StrCat("millstream: ", note));
  };
  group.on_tick = [&] { display.Tick(); };
  const StatusOr<launch::GroupResult> result = launch::RunLocally(*job, std::move(group));
  if (!result.ok()) return Fail(result.status());
  // Who failed and why was printed when it happened.
  display.Finish(!result->failures.empty() ? JobOutcome::kFailed
                 : result->signal != 0     ? JobOutcome::kInterrupted
                                           : JobOutcome::kDone);
  return result->exit_code();
}

}  // namespace millstream::cli
