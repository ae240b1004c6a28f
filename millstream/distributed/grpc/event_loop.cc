// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/event_loop.h"

#include <grpc/support/time.h>

#include <algorithm>

#include "millstream/distributed/grpc/core.h"
#include "millstream/distributed/wire/long_call.h"

namespace millstream {
namespace {

constexpr auto kWatchSoon = std::chrono::milliseconds(2);
constexpr auto kWatchInterval = std::chrono::milliseconds(20);
constexpr auto kTickInterval = std::chrono::milliseconds(250);

thread_local EventLoop* reading = nullptr;  // the loop whose events this thread runs, or ran last

grpc_completion_queue* MakeQueue() {
  InitGrpc();
  return grpc_completion_queue_create_for_next(nullptr);
}

}  // namespace

void ExpectLongCall() {
  if (reading != nullptr) reading->Watch();
}

EventLoop::EventLoop(std::chrono::microseconds spin, bool held)
    : held_(held), queue_(MakeQueue()), spin_(std::chrono::nanoseconds(spin).count()) {
  MutexLock lock(mu_);
  StartThread();
  StartThread();
}

EventLoop::~EventLoop() {
  Stop();
  grpc_completion_queue_destroy(queue_);
}

void EventLoop::Stop() {
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    stopping_ = true;
    wake_.NotifyAll();
  }
  grpc_completion_queue_shutdown(queue_);
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    while (!ended_) wake_.Wait(mu_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void EventLoop::StartThread() {
  threads_.emplace_back([this] { ThreadMain(); });
}

void EventLoop::ThreadMain() {
  while (AwaitTurn()) {
    if (Read()) continue;
    MutexLock lock(mu_);
    ended_ = true;
    wake_.NotifyAll();
    spare_wake_.NotifyAll();
    return;
  }
}

bool EventLoop::AwaitTurn() {
  MutexLock lock(mu_);
  if (!has_reader_) return has_reader_ = true;
  ++spares_;
  while (has_watcher_ && !ended_) spare_wake_.Wait(mu_);
  --spares_;
  if (ended_) return false;
  has_watcher_ = true;
  const bool reads = WatchReader();
  has_watcher_ = false;
  // Somebody has to watch the new reader in its turn.
  if (reads && spares_ > 0) spare_wake_.NotifyOne();
  if (reads && spares_ == 0 && static_cast<int>(threads_.size()) < kMaxThreads && !stopping_) StartThread();
  return reads;
}

// True: the reader is stuck, and this thread has taken its place.
bool EventLoop::WatchReader() {
  uint64_t seen = turn_.load();
  while (!ended_) {
    const bool soon = watch_soon_.exchange(false);
    wake_.WaitUntil(mu_, std::chrono::steady_clock::now() + (soon ? kWatchSoon : kWatchInterval));
    if (ended_) break;
    const uint64_t now = turn_.load();
    if (now != seen || watch_soon_.load()) {
      seen = now;
      continue;
    }
    if ((now & 1) != 0) {
      if (turn_.compare_exchange_strong(seen, now + 1)) return true;
      continue;
    }
    // Nothing happens: sleep until something does. The reader looks at the flag after it has set its turn.
    watcher_asleep_.store(true);
    while (turn_.load() == seen && watcher_asleep_.load() && !ended_) wake_.Wait(mu_);
    watcher_asleep_.store(false);
  }
  return false;
}

void EventLoop::Watch() {
  if (watch_soon_.exchange(true)) return;
  MutexLock lock(mu_);
  wake_.NotifyAll();
}

bool EventLoop::Read() {
  reading = this;
  while (true) {
    const grpc_event event = Next();
    if (event.type == GRPC_QUEUE_SHUTDOWN) return false;
    if (has_ticked_.load(std::memory_order_relaxed)) RunTicks();
    if (event.type == GRPC_QUEUE_TIMEOUT) continue;
    const uint64_t mine = turn_.load(std::memory_order_relaxed) + 1;
    turn_.store(mine);
    if (watcher_asleep_.load()) {
      MutexLock lock(mu_);
      watcher_asleep_.store(false);
      wake_.NotifyAll();
    }
    const auto* tag = static_cast<const GrpcTag*>(TakeFromGrpc(event.tag));
    tag->run(tag->object, event.success != 0);
    uint64_t expected = mine;
    if (!turn_.compare_exchange_strong(expected, mine + 1)) return true;
  }
}

grpc_event EventLoop::Next() {
  const gpr_timespec at_once = gpr_inf_past(GPR_CLOCK_MONOTONIC);
  grpc_event event = grpc_completion_queue_next(queue_, at_once, nullptr);
  if (event.type != GRPC_QUEUE_TIMEOUT) return event;
  int64_t now = NowNanos();
  spin_.Worked(now);
  while (spin_.ShouldSpin(now)) {
    now = spin_.contention().Yield();  // who has work to do goes first
    event = grpc_completion_queue_next(queue_, at_once, nullptr);
    if (event.type != GRPC_QUEUE_TIMEOUT) return event;
  }
  if (held_) AwaitHold();
  return Block();
}

grpc_event EventLoop::Block() {
  const bool ticks = has_ticked_.load(std::memory_order_relaxed);
  const auto deadline = std::chrono::steady_clock::now() + kTickInterval;
  const int64_t begin = NowNanos();
  const grpc_event event =
      grpc_completion_queue_next(queue_, ticks ? ToGprTime(deadline) : gpr_inf_future(GPR_CLOCK_MONOTONIC), nullptr);
  const int64_t now = NowNanos();
  spin_.Woke(now, now - begin, event.type != GRPC_QUEUE_TIMEOUT);
  return event;
}

void EventLoop::Hold() {
  if (holds_.fetch_add(1) != 0) return;
  MutexLock lock(mu_);
  wake_.NotifyAll();
}

void EventLoop::AwaitHold() {
  if (holds_.load() > 0) return;
  MutexLock lock(mu_);
  while (holds_.load() == 0 && !stopping_) wake_.Wait(mu_);
}

void EventLoop::AddTicked(std::weak_ptr<Ticked> ticked) {
  MutexLock lock(mu_);
  ticked_.push_back(std::move(ticked));
  has_ticked_.store(true, std::memory_order_relaxed);
}

void EventLoop::RunTicks() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_tick_) return;
  next_tick_ = now + kTickInterval;
  std::vector<std::shared_ptr<Ticked>> due;
  {
    MutexLock lock(mu_);
    std::erase_if(ticked_, [&](const std::weak_ptr<Ticked>& weak) {
      std::shared_ptr<Ticked> ticked = weak.lock();
      if (ticked != nullptr) due.push_back(std::move(ticked));
      return weak.expired();
    });
    has_ticked_.store(!ticked_.empty(), std::memory_order_relaxed);
  }
  for (const auto& ticked : due) ticked->Tick();
}

}  // namespace millstream
