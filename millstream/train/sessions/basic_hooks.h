// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_BASIC_HOOKS_H_
#define MILLSTREAM_TRAIN_SESSIONS_BASIC_HOOKS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/train/sessions/session_run_hook.h"
#include "millstream/train/sessions/step_reader.h"
#include "millstream/train/sessions/step_timer.h"
#include "millstream/train/summaries/file_writer.h"

namespace millstream {

// Hooks that most trainings use; they do what TensorFlow's of the same names do. Wrong settings are InvalidArgument,
// and a missing global step FailedPrecondition, in Begin().

// Ends the training after `num_steps` more steps, or at step `last_step`: exactly one is set. Steps of all workers
// count.
class StopAtStepHook final : public SessionRunHook {
 public:
  static std::shared_ptr<StopAtStepHook> AtStep(int64_t last_step);
  static std::shared_ptr<StopAtStepHook> AfterSteps(int64_t num_steps);
  std::optional<int64_t> last_step() const { return last_step_; }

  Status Begin(const Scope& scope) override;
  Status AfterCreateSession(Session& session, Coordinator& coordinator) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StopAtStepHook(std::optional<int64_t> num_steps, std::optional<int64_t> last_step)
      : num_steps_(num_steps), last_step_(last_step) {}
  const std::optional<int64_t> num_steps_;
  std::optional<int64_t> last_step_;
  StepReader step_;
};

// Logs tensors every so many steps of this worker or seconds, and at the end if wanted: "loss = 0.5, step = 100 (0.123
// sec)".
class LoggingTensorHook final : public SessionRunHook {
 public:
  struct TaggedTensor {
    std::string tag;
    std::string tensor;
  };
  using Formatter = std::function<std::string(const std::vector<Tensor>&)>;
  LoggingTensorHook(std::vector<TaggedTensor> tensors, HookInterval every, bool at_end = false,
                    Formatter formatter = nullptr)
      : tensors_(std::move(tensors)), timer_(every), at_end_(at_end), formatter_(std::move(formatter)) {}

  Status Begin(const Scope& scope) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;
  Status End(Session& session) override;

 private:
  std::vector<std::string> Fetches() const;
  void LogValues(const std::vector<Tensor>& values);
  const std::vector<TaggedTensor> tensors_;
  StepTimer timer_;
  const bool at_end_;
  const Formatter formatter_;
  int64_t iteration_ = 0;
  bool wanted_ = false;
};

// Logs steps per second and writes them as the summary "global_step/sec" to `writer`, or to the writer of `output_dir`,
// or to none.
class StepCounterHook final : public SessionRunHook {
 public:
  explicit StepCounterHook(HookInterval every = HookInterval::Steps(100), std::string output_dir = "",
                           std::shared_ptr<FileWriter> writer = nullptr)
      : timer_(every), output_dir_(std::move(output_dir)), writer_(std::move(writer)) {}

  Status Begin(const Scope& scope) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StepTimer timer_;
  const std::string output_dir_;
  std::shared_ptr<FileWriter> writer_;
  StepReader step_;
};

// When the loss is not a number: fails the step with InvalidArgument, or ends the training.
class NanTensorHook final : public SessionRunHook {
 public:
  explicit NanTensorHook(std::string loss, bool fail_on_nan_loss = true)
      : loss_(std::move(loss)), fail_on_nan_loss_(fail_on_nan_loss) {}
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  const std::string loss_;
  const bool fail_on_nan_loss_;
};

// Holds this worker back until the global step has come so far; says every 30 seconds where it is.
class GlobalStepWaiterHook final : public SessionRunHook {
 public:
  explicit GlobalStepWaiterHook(int64_t wait_until_step) : wait_until_step_(wait_until_step) {}
  Status Begin(const Scope& scope) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;

 private:
  const int64_t wait_until_step_;
  bool started_ = false;
  StepReader step_;
};

// Computes values at the end.
class FinalOpsHook final : public SessionRunHook {
 public:
  explicit FinalOpsHook(std::vector<std::string> fetches, Session::Feeds feeds = {})
      : fetches_(std::move(fetches)), feeds_(std::move(feeds)) {}
  const std::vector<Tensor>& final_ops_values() const { return values_; }  // empty before the end
  Status End(Session& session) override { return session.Run(feeds_, fetches_, {}, &values_); }

 private:
  const std::vector<std::string> fetches_;
  const Session::Feeds feeds_;
  std::vector<Tensor> values_;
};

// Feeds each step what a function gives.
class FeedFnHook final : public SessionRunHook {
 public:
  explicit FeedFnHook(std::function<StatusOr<Session::Feeds>()> feed_fn) : feed_fn_(std::move(feed_fn)) {}
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;

 private:
  const std::function<StatusOr<Session::Feeds>()> feed_fn_;
};

// Writes a Chrome trace of a step, OUTPUT_DIR/timeline-STEP.json, every so often.
class ProfilerHook final : public SessionRunHook {
 public:
  ProfilerHook(HookInterval every, std::string output_dir) : timer_(every), output_dir_(std::move(output_dir)) {}
  Status Begin(const Scope& scope) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StepTimer timer_;
  const std::string output_dir_;
  StepReader step_;
  std::optional<int64_t> next_step_;
  bool wanted_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_BASIC_HOOKS_H_
