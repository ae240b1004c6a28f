// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/basic_hooks.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "millstream/base/file.h"
#include "millstream/base/logging.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/chrome_trace.h"

namespace millstream {
namespace {

// A scalar as its number alone, others as lists.
std::string TextOf(const Tensor& value) { return value.SummarizeValue(1000); }

StatusOr<bool> IsNan(const Tensor& loss) {
  if (loss.num_elements() == 1) {
    if (loss.dtype() == DType::kFloat) return std::isnan(loss.scalar<float>());
    if (loss.dtype() == DType::kDouble) return std::isnan(loss.scalar<double>());
  }
  return errors::InvalidArgument("The loss of a NanTensorHook must be a scalar of type float or double: ",
                                 loss.DebugString());
}

}  // namespace

std::shared_ptr<StopAtStepHook> StopAtStepHook::AtStep(int64_t last_step) {
  return std::shared_ptr<StopAtStepHook>(new StopAtStepHook(std::nullopt, last_step));
}

std::shared_ptr<StopAtStepHook> StopAtStepHook::AfterSteps(int64_t num_steps) {
  return std::shared_ptr<StopAtStepHook>(new StopAtStepHook(num_steps, std::nullopt));
}

Status StopAtStepHook::Begin(const Scope& scope) {
  ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "StopAtStepHook"));
  return OkStatus();
}

Status StopAtStepHook::AfterCreateSession(Session& session, Coordinator&) {
  if (last_step_.has_value()) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t step, step_.Read(session));
  last_step_ = step + *num_steps_;
  return OkStatus();
}

Status StopAtStepHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  args->fetches = {step_.tensor()};
  return OkStatus();
}

Status StopAtStepHook::AfterRun(SessionRunContext& context, const SessionRunValues& values) {
  ASSIGN_OR_RETURN(int64_t step, StepReader::ValueOf(values.results[0]));
  if (step + 1 < *last_step_) return OkStatus();
  // What was fetched may be from before the step: look again.
  ASSIGN_OR_RETURN(step, step_.Read(context.session()));
  if (step >= *last_step_) context.RequestStop();
  return OkStatus();
}

std::vector<std::string> LoggingTensorHook::Fetches() const {
  std::vector<std::string> names;
  for (const TaggedTensor& t : tensors_) names.push_back(absl::StrContains(t.tensor, ':') ? t.tensor : t.tensor + ":0");
  return names;
}

Status LoggingTensorHook::Begin(const Scope& scope) {
  if (!(timer_.never() && at_end_)) RETURN_IF_ERROR(timer_.Check());
  for (const std::string& name : Fetches()) RETURN_IF_ERROR(scope.graph()->FindOutput(name).status());
  timer_.Reset();
  iteration_ = 0;
  return OkStatus();
}

Status LoggingTensorHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  wanted_ = timer_.ShouldTrigger(iteration_);
  if (wanted_) args->fetches = Fetches();
  return OkStatus();
}

Status LoggingTensorHook::AfterRun(SessionRunContext&, const SessionRunValues& values) {
  if (wanted_) LogValues(values.results);
  ++iteration_;
  return OkStatus();
}

Status LoggingTensorHook::End(Session& session) {
  if (!at_end_) return OkStatus();
  std::vector<Tensor> values;
  RETURN_IF_ERROR(session.Run({}, Fetches(), {}, &values));
  LogValues(values);
  return OkStatus();
}

void LoggingTensorHook::LogValues(const std::vector<Tensor>& values) {
  const auto since = timer_.Triggered(iteration_);
  if (formatter_ != nullptr) {
    LogInfo(formatter_(values));
    return;
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < tensors_.size(); ++i) parts.push_back(absl::StrCat(tensors_[i].tag, " = ", TextOf(values[i])));
  const std::string text = absl::StrJoin(parts, ", ");
  LogInfo(since.has_value() ? absl::StrFormat("%s (%.3f sec)", text, since->secs) : text);
}

Status StepCounterHook::Begin(const Scope& scope) {
  RETURN_IF_ERROR(timer_.Check());
  if (writer_ == nullptr && !output_dir_.empty()) {
    ASSIGN_OR_RETURN(writer_, FileWriter::Shared(output_dir_));
  }
  ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "StepCounterHook"));
  return OkStatus();
}

Status StepCounterHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  args->fetches = {step_.tensor()};
  return OkStatus();
}

Status StepCounterHook::AfterRun(SessionRunContext& context, const SessionRunValues& values) {
  ASSIGN_OR_RETURN(int64_t step, StepReader::ValueOf(values.results[0]));
  if (!timer_.ShouldTrigger(step + 1)) return OkStatus();
  ASSIGN_OR_RETURN(step, step_.Read(context.session()));
  if (!timer_.ShouldTrigger(step)) return OkStatus();
  const auto since = timer_.Triggered(step);
  if (!since.has_value() || since->secs <= 0) return OkStatus();
  const double rate = static_cast<double>(since->steps) / since->secs;
  const std::string tag = step_.variable() + "/sec";
  if (writer_ != nullptr) writer_->AddScalar(tag, static_cast<float>(rate), step);
  LogInfo(absl::StrFormat("%s: %g", tag, rate));
  return OkStatus();
}

Status NanTensorHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  args->fetches = {loss_};
  return OkStatus();
}

Status NanTensorHook::AfterRun(SessionRunContext& context, const SessionRunValues& values) {
  ASSIGN_OR_RETURN(const bool nan, IsNan(values.results[0]));
  if (!nan) return OkStatus();
  constexpr char kMessage[] = "Model diverged with loss = NaN.";
  if (fail_on_nan_loss_) {
    LogError(kMessage);
    return errors::InvalidArgument("NaN loss during training.");
  }
  LogWarning(kMessage);
  context.RequestStop();
  return OkStatus();
}

Status GlobalStepWaiterHook::Begin(const Scope& scope) {
  started_ = wait_until_step_ <= 0;
  ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "GlobalStepWaiterHook"));
  return OkStatus();
}

Status GlobalStepWaiterHook::BeforeRun(SessionRunContext& context, SessionRunArgs*) {
  if (started_) return OkStatus();
  const std::string what = absl::StrCat("Waiting for global step ", wait_until_step_, " before starting training.");
  LogInfo(what);
  auto told = std::chrono::steady_clock::now();
  while (true) {
    ASSIGN_OR_RETURN(const int64_t step, step_.Read(context.session()));
    started_ = step >= wait_until_step_;
    if (started_) return OkStatus();
    if (const auto now = std::chrono::steady_clock::now(); now - told > std::chrono::seconds(30)) {
      LogInfo(absl::StrCat(what, " Current step is ", step, "."));
      told = now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Status FeedFnHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  ASSIGN_OR_RETURN(args->feeds, feed_fn_());
  return OkStatus();
}

Status ProfilerHook::Begin(const Scope& scope) {
  RETURN_IF_ERROR(timer_.Check());
  next_step_.reset();
  ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "ProfilerHook"));
  return OkStatus();
}

Status ProfilerHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  wanted_ = next_step_.has_value() && timer_.ShouldTrigger(*next_step_);
  args->fetches = {step_.tensor()};
  args->options.full_trace = wanted_;
  return OkStatus();
}

Status ProfilerHook::AfterRun(SessionRunContext& context, const SessionRunValues& values) {
  ASSIGN_OR_RETURN(int64_t step, StepReader::ValueOf(values.results[0]));
  if (!next_step_.has_value()) timer_.Triggered(step);
  ++step;
  if (wanted_) {
    ASSIGN_OR_RETURN(step, step_.Read(context.session()));
    timer_.Triggered(step);
    const std::string name = absl::StrCat("timeline-", step, ".json");
    if (!output_dir_.empty()) RETURN_IF_ERROR(MakeFolders(output_dir_));
    RETURN_IF_ERROR(WriteFileAtomically(output_dir_.empty() ? name : absl::StrCat(output_dir_, "/", name),
                                        ChromeTrace(values.metadata->step_stats())));
  }
  next_step_ = step + 1;
  return OkStatus();
}

}  // namespace millstream
