// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/training_session.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "millstream/base/logging.h"
#include "millstream/io/bundle_reader.h"
#include "millstream/runtime/local_server.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/sessions/basic_hooks.h"
#include "millstream/train/sessions/saver_hooks.h"

namespace millstream {
namespace {

constexpr std::chrono::seconds kNobodyAnswers{5};

// Of a pair of settings; nothing: never.
std::optional<HookInterval> IntervalOf(std::optional<int64_t> steps, std::optional<double> secs,
                                       const HookInterval& otherwise) {
  HookInterval every = !steps.has_value() && !secs.has_value() ? otherwise : HookInterval{steps, secs};
  if (every.steps.has_value() && *every.steps <= 0) every.steps.reset();
  if (every.secs.has_value() && *every.secs <= 0) every.secs.reset();
  if (!every.steps.has_value() && !every.secs.has_value()) return std::nullopt;
  return every;
}

SessionRunHooks ChiefHooks(const TrainingSessionOptions& options) {
  SessionRunHooks hooks = options.chief_only_hooks;
  const std::string summary_dir = options.summary_dir.empty() ? options.checkpoint_dir : options.summary_dir;
  if (!summary_dir.empty()) {
    if (options.log_step_count_steps > 0) {
      hooks.push_back(
          std::make_shared<StepCounterHook>(HookInterval::Steps(options.log_step_count_steps), summary_dir));
    }
    const auto every = IntervalOf(options.save_summaries_steps, options.save_summaries_secs, HookInterval::Steps(100));
    if (every.has_value()) {
      SummarySaverHook::Options summaries;
      summaries.every = *every;
      summaries.output_dir = summary_dir;
      summaries.scaffold = options.scaffold;
      hooks.push_back(std::make_shared<SummarySaverHook>(summaries));
    }
  }
  const auto every = IntervalOf(options.save_checkpoint_steps, options.save_checkpoint_secs, HookInterval::Secs(600));
  if (!options.checkpoint_dir.empty() && every.has_value()) {
    CheckpointSaverHook::Options checkpoints;
    checkpoints.checkpoint_dir = options.checkpoint_dir;
    checkpoints.every = *every;
    checkpoints.scaffold = options.scaffold;
    checkpoints.save_graph_def = options.save_graph_def;
    checkpoints.on_saved = options.on_saved;
    hooks.push_back(std::make_shared<CheckpointSaverHook>(checkpoints));
  }
  return hooks;
}

// The step of the latest checkpoint, if that can be told.
std::optional<int64_t> SavedStep(const Scope& scope, const std::string& folder) {
  const std::optional<std::string> path = LatestCheckpoint(folder);
  const StatusOr<StepReader> step = StepReader::Find(scope);
  if (!path.has_value() || !step.ok() || !*step) return std::nullopt;
  const StatusOr<std::unique_ptr<BundleReader>> reader = BundleReader::Open(*path);
  if (!reader.ok()) return std::nullopt;
  const StatusOr<Tensor> value = (*reader)->Read(step->variable());
  if (!value.ok()) return std::nullopt;
  const StatusOr<int64_t> number = StepReader::ValueOf(*value);
  return number.ok() ? std::optional<int64_t>(*number) : std::nullopt;
}

// Whether the job was over before this worker came: there is nobody left to train with, and nothing left to do.
bool JobIsOver(const Scope& scope, const TrainingSessionOptions& options) {
  std::optional<int64_t> last;
  for (const auto& hook : options.hooks) {
    const auto* stop = dynamic_cast<const StopAtStepHook*>(hook.get());
    if (stop != nullptr && stop->last_step().has_value())
      last = std::min(last.value_or(*stop->last_step()), *stop->last_step());
  }
  const std::shared_ptr<JobMember> job = JobOf(options.config);
  if (!last.has_value() || job == nullptr || !job->has_ps() || options.checkpoint_dir.empty()) return false;
  const std::optional<int64_t> step = SavedStep(scope, options.checkpoint_dir);
  if (!step.has_value() || *step < *last) return false;
  const auto deadline = std::chrono::steady_clock::now() + kNobodyAnswers;
  while (std::chrono::steady_clock::now() < deadline) {
    if (job->AnyPsAnswers()) return false;
    if (job->stop().IsCancelled()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  LogWarning(absl::StrCat("There is nothing left to do: The job has ended at step ", *step,
                          " before this worker came (checkpoint in ", options.checkpoint_dir, ")."));
  return true;
}

}  // namespace

StatusOr<std::unique_ptr<MonitoredSession>> MonitoredTrainingSession(const Scope& scope,
                                                                     TrainingSessionOptions options) {
  RETURN_IF_ERROR(scope.status());
  if (JobIsOver(scope, options)) return MonitoredSession::MakeFinished();
  if (options.scaffold == nullptr) options.scaffold = std::make_shared<Scaffold>();
  std::unique_ptr<SessionCreator> creator;
  SessionRunHooks hooks;
  if (options.is_chief) {
    creator = std::make_unique<ChiefSessionCreator>(scope, options.scaffold, options.config, options.checkpoint_dir,
                                                    /*checkpoint_path=*/"", options.on_restore);
    hooks = ChiefHooks(options);
  } else {
    creator = std::make_unique<WorkerSessionCreator>(scope, options.scaffold, options.config, options.max_wait_secs);
  }
  hooks.insert(hooks.end(), options.hooks.begin(), options.hooks.end());
  return MonitoredSession::Make(scope, std::move(creator), std::move(hooks),
                                {options.stop_grace_period_secs, /*recover=*/true});
}

StatusOr<std::unique_ptr<SingularMonitoredSession>> SingularMonitoredSession::Make(const Scope& scope,
                                                                                   SessionRunHooks hooks,
                                                                                   std::shared_ptr<Scaffold> scaffold,
                                                                                   const SessionOptions& config,
                                                                                   const std::string& checkpoint_dir) {
  auto creator = std::make_unique<ChiefSessionCreator>(scope, std::move(scaffold), config, checkpoint_dir);
  MonitoredSession::Options options;
  options.recover = false;
  std::unique_ptr<SingularMonitoredSession> session(
      new SingularMonitoredSession(scope, std::move(creator), std::move(hooks), options));
  RETURN_IF_ERROR(session->Begin());
  return session;
}

}  // namespace millstream
