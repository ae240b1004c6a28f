// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/graceful_stop.h"

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/base/untrusted_log.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStepGrace = std::chrono::seconds(1);
constexpr auto kDrainGrace = std::chrono::seconds(8);
constexpr auto kAnswerGrace = std::chrono::seconds(2);
constexpr auto kLookAgain = std::chrono::milliseconds(20);

}  // namespace

GracefulStop::GracefulStop(Worker* worker, Peers* peers, Master* master, Cancellation* stop)
    : worker_(worker), peers_(peers), master_(master), stop_(stop) {}

void GracefulStop::End() {
  quit_.Notify();
  std::thread steps, drain;
  {
    MutexLock lock(mu_);
    steps.swap(steps_);
    drain.swap(drain_);
  }
  if (steps.joinable()) steps.join();
  if (drain.joinable()) drain.join();
}

void GracefulStop::Begin(const std::string& reason) {
  MutexLock lock(mu_);
  if (steps_.joinable() || quit_.HasBeenNotified()) return;
  stop_->StartCancel(errors::Cancelled(worker_->task(), " was told to stop: ", reason));
  steps_ = std::thread([this] { EndSteps(); });
}

void GracefulStop::EndSteps() {
  const std::vector<uint64_t> running = master_->RunningSteps();
  if (quit_.WaitUntil(Clock::now() + kStepGrace)) return;
  master_->CancelSteps({running.begin(), running.end()}, stop_->status());
  for (const std::string& task : peers_->DropSilent(kAnswerGrace)) {
    LogWarning(absl::StrCat(worker_->task(), ": ", task, " does not answer; its link is closed"));
  }
}

void GracefulStop::Drain(std::function<void()> idle) {
  MutexLock lock(mu_);
  if (drain_.joinable() || quit_.HasBeenNotified()) return;
  drain_ = std::thread([this, idle = std::move(idle)] { AwaitIdle(idle); });
}

void GracefulStop::AwaitIdle(const std::function<void()>& idle) {
  if (worker_->num_sessions() > 0) {
    LogInfo(absl::StrCat(worker_->task(), ": waiting for ",
                         EscapeUntrusted(absl::StrJoin(worker_->SessionOwners(), ", ")), " to save and leave (at most ",
                         kDrainGrace.count(), " s)"));
  }
  const auto deadline = Clock::now() + kDrainGrace;
  while (worker_->num_sessions() > 0 && Clock::now() < deadline) {
    if (quit_.WaitUntil(Clock::now() + kLookAgain)) return;
  }
  idle();
}

}  // namespace millstream
