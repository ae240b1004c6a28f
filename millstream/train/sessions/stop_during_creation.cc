// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/stop_during_creation.h"

#include <chrono>

namespace millstream {
namespace {

constexpr auto kGrace = std::chrono::seconds(1);

}  // namespace

StopDuringCreation::StopDuringCreation(JobMember* job, Session& session) : job_(job), session_(session) {
  if (job_ == nullptr) return;
  registered_ = job_->stop().Register(
      [this] {
        MutexLock lock(mu_);
        stopped_ = true;
        changed_.NotifyAll();
      },
      &token_);
  {
    MutexLock lock(mu_);
    stopped_ = stopped_ || !registered_;  // it was told to before
  }
  thread_ = std::thread([this] { Watch(); });
}

void StopDuringCreation::Watch() {
  MutexLock lock(mu_);
  while (!stopped_ && !ended_) changed_.Wait(mu_);
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (!ended_ && std::chrono::steady_clock::now() < deadline) changed_.WaitUntil(mu_, deadline);
  if (ended_) return;
  closed_ = true;
  mu_.Unlock();
  session_.Close().IgnoreError();
  mu_.Lock();
}

bool StopDuringCreation::End() {
  if (registered_) job_->stop().Deregister(token_);
  registered_ = false;
  {
    MutexLock lock(mu_);
    ended_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mu_);
  return closed_;
}

}  // namespace millstream
