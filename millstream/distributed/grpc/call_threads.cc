// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/call_threads.h"

#include <algorithm>
#include <chrono>

namespace millstream {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(5);

}  // namespace

void CallThreads::Run(const void* owner, std::function<void()> work) {
  std::vector<std::thread> ended;
  {
    MutexLock lock(mu_);
    queue_.push_back({owner, std::move(work)});
    // An idle thread may have been woken already for what was brought before.
    if (threads_<max_threads_&& static_cast<int>(queue_.size())> idle_ && AnyToTake()) {
      ++threads_;
      started_.emplace_back([this] { ThreadMain(); });
    } else {
      changed_.NotifyOne();
    }
    // The system keeps the stack of a thread that has ended until it is joined.
    for (const std::thread::id id : ended_) {
      const auto it = std::find_if(started_.begin(), started_.end(), [&](const auto& t) { return t.get_id() == id; });
      ended.push_back(std::move(*it));
      started_.erase(it);
    }
    ended_.clear();
  }
  for (std::thread& thread : ended) thread.join();
}

bool CallThreads::AnyToTake() {
  for (const Item& item : queue_) {
    const auto it = running_.find(item.owner);
    if (it == running_.end() || it->second < max_per_owner_) return true;
  }
  return false;
}

bool CallThreads::TakeNext(Item* item) {
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    int& running = running_[it->owner];
    if (running >= max_per_owner_) continue;
    ++running;
    *item = std::move(*it);
    queue_.erase(it);
    return true;
  }
  return false;
}

void CallThreads::ThreadMain() {
  MutexLock lock(mu_);
  while (true) {
    Item item;
    if (TakeNext(&item)) {
      mu_.Unlock();
      item.work();
      item.work = nullptr;
      mu_.Lock();
      if (--running_[item.owner] == 0) running_.erase(item.owner);
      continue;
    }
    if (stopping_ && queue_.empty()) break;
    ++idle_;
    const bool notified = changed_.WaitUntil(mu_, std::chrono::steady_clock::now() + kIdleTime);
    --idle_;
    if (!notified && !AnyToTake() && !stopping_) break;
  }
  --threads_;
  ended_.push_back(std::this_thread::get_id());
  changed_.NotifyAll();
}

void CallThreads::Stop() {
  std::vector<std::thread> started;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
    while (threads_ > 0) changed_.Wait(mu_);
    started.swap(started_);
  }
  for (std::thread& thread : started) thread.join();
}

}  // namespace millstream
