// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/timer_queue.h"

namespace millstream {

void TimerQueue::Stop() {
  std::thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

TimerQueue::Id TimerQueue::Add(Clock::time_point when, std::function<void()> call) {
  MutexLock lock(mu_);
  if (stopping_) return next_++;
  if (!thread_.joinable()) thread_ = std::thread([this] { Main(); });
  const Id id = next_++;
  const bool first = calls_.empty() || when < calls_.begin()->first.first;
  calls_.emplace(std::pair(when, id), std::move(call));
  when_.emplace(id, when);
  if (first) changed_.NotifyAll();
  return id;
}

bool TimerQueue::Cancel(Id id, bool wait) {
  std::function<void()> dropped;  // destroyed outside the lock
  MutexLock lock(mu_);
  auto it = when_.find(id);
  if (it == when_.end()) {
    while (wait && running_ == id) changed_.Wait(mu_);
    return false;
  }
  auto call = calls_.find(std::pair(it->second, id));
  dropped = std::move(call->second);
  calls_.erase(call);
  when_.erase(it);
  return true;
}

void TimerQueue::Main() {
  MutexLock lock(mu_);
  while (!stopping_) {
    if (calls_.empty()) {
      changed_.Wait(mu_);
      continue;
    }
    const auto [when, id] = calls_.begin()->first;
    if (Clock::now() < when) {
      changed_.WaitUntil(mu_, when);
      continue;
    }
    std::function<void()> call = std::move(calls_.begin()->second);
    calls_.erase(calls_.begin());
    when_.erase(id);
    running_ = id;
    mu_.Unlock();
    call();
    call = nullptr;
    mu_.Lock();
    running_ = 0;
    changed_.NotifyAll();
  }
}

}  // namespace millstream
