// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/ticker.h"

namespace millstream {

void Ticker::Add(std::weak_ptr<Ticked> ticked) {
  MutexLock lock(mu_);
  all_.push_back(std::move(ticked));
  if (timer_ == 0 && !stopped_) Schedule();
}

void Ticker::Schedule() {
  timer_ = timers_->Add(TimerQueue::Clock::now() + kInterval, [this] { Run(); });
}

void Ticker::Run() {
  std::vector<std::shared_ptr<Ticked>> due;
  {
    MutexLock lock(mu_);
    std::erase_if(all_, [&](const std::weak_ptr<Ticked>& weak) {
      std::shared_ptr<Ticked> ticked = weak.lock();
      if (ticked == nullptr) return true;
      due.push_back(std::move(ticked));
      return false;
    });
  }
  for (const std::shared_ptr<Ticked>& ticked : due) ticked->Tick();
  due.clear();
  MutexLock lock(mu_);
  timer_ = 0;
  if (!all_.empty() && !stopped_) Schedule();
}

void Ticker::Stop() {
  TimerQueue::Id timer;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    timer = timer_;
  }
  if (timer != 0) timers_->Cancel(timer);
}

}  // namespace millstream
