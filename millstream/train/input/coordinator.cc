// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/coordinator.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr double kQueueGraceSecs = 1.0;
constexpr std::chrono::seconds kTellEvery{30};

std::chrono::steady_clock::time_point After(std::chrono::steady_clock::time_point from, double secs) {
  // A year stands for ever: the clock cannot count much further.
  const std::chrono::duration<double> wait(std::clamp(secs, 0.0, 365.0 * 86400));
  return from + std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait);
}

}  // namespace

Coordinator::Coordinator(std::vector<absl::StatusCode> clean_stop_codes)
    : clean_stop_codes_(std::move(clean_stop_codes)) {}

Coordinator::~Coordinator() {
  RequestStop();
  {
    MutexLock lock(mu_);
    while (AnyAlive()) {
      if (!changed_.WaitUntil(mu_, Clock::now() + kTellEvery)) {
        LogWarning(absl::StrCat("Waiting for threads that have been asked to stop: ", NamesOfLive(false)));
      }
    }
  }
  RemoveEnded();
}

bool Coordinator::IsClean(const Status& status) const {
  return std::find(clean_stop_codes_.begin(), clean_stop_codes_.end(), status.code()) != clean_stop_codes_.end();
}

void Coordinator::RequestStop(Status reason) {
  if (!reason.ok()) LogInfo(absl::StrCat("Error reported to Coordinator: ", reason.ToString()));
  MutexLock lock(mu_);
  if (stop_) return;
  if (!reason.ok() && !IsClean(reason)) error_ = std::move(reason);
  stop_ = true;
  changed_.NotifyAll();
}

bool Coordinator::ShouldStop() const {
  MutexLock lock(mu_);
  return stop_;
}

void Coordinator::WaitForStop() {
  MutexLock lock(mu_);
  while (!stop_) changed_.Wait(mu_);
}

bool Coordinator::WaitForStop(double secs) {
  const auto deadline = After(Clock::now(), secs);
  MutexLock lock(mu_);
  while (!stop_ && Clock::now() < deadline) changed_.WaitUntil(mu_, deadline);
  return stop_;
}

void Coordinator::ClearStop() {
  MutexLock lock(mu_);
  stop_ = joined_ = false;
  error_ = OkStatus();
}

Status Coordinator::RequestedError() const {
  MutexLock lock(mu_);
  return error_;
}

bool Coordinator::joined() const {
  MutexLock lock(mu_);
  return joined_;
}

void Coordinator::StartThread(std::string name, std::function<Status()> body, ThreadKind kind) {
  RemoveEnded();  // there may be many one after the other
  MutexLock lock(mu_);
  Thread& thread = threads_.emplace_back();
  thread.name = std::move(name);
  thread.kind = kind;
  thread.thread = std::thread([this, &thread, body = std::move(body)]() mutable {
    if (Status status = body(); !status.ok()) RequestStop(std::move(status));
    body = nullptr;  // what it holds goes before anybody takes the thread for ended
    MutexLock ended_lock(mu_);
    thread.ended = true;
    changed_.NotifyAll();
  });
}

void Coordinator::StartLoop(std::string name, double interval_secs, std::function<Status()> body) {
  StartThread(std::move(name), [this, interval_secs, body = std::move(body)]() -> Status {
    auto next = Clock::now();
    while (!WaitForStop(std::chrono::duration<double>(next - Clock::now()).count())) {
      next = After(next, interval_secs);
      RETURN_IF_ERROR(body());
    }
    return OkStatus();
  });
}

bool Coordinator::AnyAlive() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) { return !t.ended; });
}

void Coordinator::AwaitKind(ThreadKind kind, Clock::time_point deadline) {
  const auto alive = [&](const Thread& t) { return t.kind == kind && !t.ended; };
  while (std::any_of(threads_.begin(), threads_.end(), alive) && Clock::now() < deadline)
    changed_.WaitUntil(mu_, deadline);
}

std::string Coordinator::NamesOfLive(bool workers_only) const {
  std::vector<absl::string_view> names;
  for (const Thread& t : threads_) {
    if (!t.ended && (!workers_only || t.kind == ThreadKind::kWorker)) names.emplace_back(t.name);
  }
  return absl::StrJoin(names, " ");
}

void Coordinator::RemoveEnded() {
  std::list<Thread> ended;
  {
    MutexLock lock(mu_);
    for (auto it = threads_.begin(); it != threads_.end();) {
      const auto next = std::next(it);
      if (it->ended) ended.splice(ended.end(), threads_, it);
      it = next;
    }
  }
  for (Thread& t : ended) t.thread.join();
}

Status Coordinator::Join(const JoinOptions& options) {
  std::string stragglers;
  Status error;
  {
    MutexLock lock(mu_);
    while (!stop_ && AnyAlive()) changed_.Wait(mu_);
    stop_ = true;
    changed_.NotifyAll();
    const auto now = Clock::now();
    AwaitKind(ThreadKind::kWorker, After(now, options.stop_grace_period_secs));
    AwaitKind(ThreadKind::kQueueRunner, After(now, std::min(options.stop_grace_period_secs, kQueueGraceSecs)));
    stragglers = NamesOfLive(true);
    joined_ = true;
    error = error_;
  }
  RemoveEnded();
  if (!error.ok() || stragglers.empty()) return error;
  const std::string message = absl::StrCat("Coordinator stopped with threads still running: ", stragglers);
  if (!options.ignore_live_threads) return errors::FailedPrecondition(message);
  LogInfo(message);
  return OkStatus();
}

}  // namespace millstream
