// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/shadow/stream.h"

#include <chrono>

#include "millstream/base/notification.h"
#include "millstream/base/random.h"
#include "millstream/base/start_thread.h"

namespace millstream::shadow {

Status LateStream::Start() {
  return StartThread([this] { Main(); }, &thread_);
}

LateStream::~LateStream() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void LateStream::ThenCall(std::function<void()> fn) {
  MutexLock lock(mu_);
  work_.push_back(std::move(fn));
  changed_.NotifyAll();
}

Status LateStream::Wait() {
  if (!thread_.joinable()) return OkStatus();
  Notification reached;
  ThenCall([&] { reached.Notify(); });
  reached.Wait();
  return OkStatus();
}

void LateStream::Main() {
  uint64_t state = RandomNumber();
  for (;;) {
    std::function<void()> fn;
    {
      MutexLock lock(mu_);
      while (work_.empty() && !stopped_) changed_.Wait(mu_);
      if (work_.empty()) return;
      fn = std::move(work_.front());
      work_.pop_front();
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 60) == 0) std::this_thread::sleep_for(std::chrono::microseconds((state >> 33) % 200));
    fn();
  }
}

}  // namespace millstream::shadow
