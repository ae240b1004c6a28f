// SPDX-License-Identifier: Apache-2.0
#include "cli/train/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "cli/train/display.h"
#include "cli/train/task.h"
#include "millstream/launch/job.h"
#include "millstream/launch/job_registration.h"

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
  job.token_file = options.cluster.token_file;
  job.command = {program.string(), "train", "--json"};
  for (std::string& argument : options.ToArguments()) job.command.push_back(std::move(argument));
  return job;
}

// The folder of a job that was given none is this job's alone, also if another one begins in the same second.
Status MakeNewFolder(std::string* folder) {
  const std::string base = *folder;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(base).parent_path(), error);
  for (int i = 2; !error; ++i) {
    if (std::filesystem::create_directory(*folder, error)) return OkStatus();
    *folder = absl::StrCat(base, "-", i);
  }
  return errors::Unavailable("cannot make the folder ", *folder, ": ", error.message());
}

// Takes the log folder, so that no other job writes there, and makes the job known to 'millstream stop' and others.
StatusOr<std::unique_ptr<launch::JobRegistration>> Register(TrainOptions* options) {
  launch::JobRegistration::Options job;
  if (!options->no_logdir) {
    if (options->new_logdir) RETURN_IF_ERROR(MakeNewFolder(&options->logdir));
    job.folder = options->logdir;
    job.default_name = std::filesystem::path(job.folder).filename().string();
  }
  if (!launch::IsJobName(job.default_name)) job.default_name = absl::StrCat(options->model, "-", getpid());
  job.job_id = launch::NewJobId();
  return launch::JobRegistration::Make(job);
}

}  // namespace

int RunTrainingJob(TrainOptions options) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (options.threads == 0) options.threads = std::max(1, cores / options.workers);
  // What tasks tell each other about is not what people want to see here, unless they ask for it.
  setenv("MILLSTREAM_MIN_LOG_LEVEL", "1", /*overwrite=*/0);
  StatusOr<std::unique_ptr<launch::JobRegistration>> registration = Register(&options);
  if (!registration.ok()) return Fail(registration.status());
  StatusOr<launch::JobOptions> job = MakeJob(options);
  if (!job.ok()) return Fail(job.status());
  job->registration = registration->get();
  std::vector<std::string> names;
  for (const launch::JobTask& task : launch::TasksOf(*job)) names.push_back(task.name());
  // Workers first: they are what people look at.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.rfind("worker", 0) == 0; });
  Display display(options, Display::ChooseStyle(options), names);

  bool stopped = false;  // by `millstream stop`
  launch::GroupOptions group;
  group.service_grace = std::chrono::milliseconds(0);
  group.tick = std::chrono::milliseconds(100);
  group.on_line = [&](const std::string& name, bool is_error, absl::string_view line) {
    const std::optional<TrainEvent> event = is_error ? std::nullopt : EventFromJson(line);
    if (event) {
      const bool told = event->kind == TrainEvent::Kind::kNote && absl::StartsWith(event->text, kToldToStop);
      if (!told || !stopped) display.Handle(*event);  // every worker says so: once is enough
      stopped = stopped || told;
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
  const bool interrupted = result->signal != 0 || stopped;
  display.Finish(!result->failures.empty() ? JobOutcome::kFailed
                 : interrupted             ? JobOutcome::kInterrupted
                                           : JobOutcome::kDone);
  return result->exit_code();
}

}  // namespace millstream::cli
