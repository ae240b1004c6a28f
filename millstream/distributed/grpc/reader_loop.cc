// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/reader_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "millstream/base/logging.h"
#include "millstream/distributed/wire/long_call.h"

namespace millstream {
namespace {

constexpr auto kWatchSoon = std::chrono::milliseconds(2);
constexpr auto kWatchInterval = std::chrono::milliseconds(20);
constexpr int kMaxEvents = 16;
constexpr uint64_t kWakeId = 0;

thread_local ReaderLoop* reading = nullptr;  // the loop whose events this thread runs, or ran last

}  // namespace

void ExpectLongCall() {
  if (reading != nullptr) reading->Watch();
}

ReaderLoop::ReaderLoop(std::chrono::microseconds spin)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      spin_(std::chrono::nanoseconds(spin).count()) {
  MS_CHECK(epoll_ && wake_);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  MS_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
  MutexLock lock(mu_);
  StartThread();
  StartThread();
}

ReaderLoop::~ReaderLoop() { Stop(); }

uint64_t ReaderLoop::Add(std::shared_ptr<Member> member, int fd, uint32_t events) {
  uint64_t id = 0;
  {
    MutexLock lock(members_mu_);
    id = next_id_++;
    members_[id] = std::move(member);
  }
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;  // packed: nothing may refer to it
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  return id;
}

void ReaderLoop::SetEvents(uint64_t id, int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void ReaderLoop::Remove(uint64_t id, int fd) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  std::shared_ptr<Member> dropped;  // outside the lock
  MutexLock lock(members_mu_);
  const auto it = members_.find(id);
  if (it == members_.end()) return;
  dropped = std::move(it->second);
  members_.erase(it);
}

std::shared_ptr<ReaderLoop::Member> ReaderLoop::Find(uint64_t id) {
  MutexLock lock(members_mu_);
  const auto it = members_.find(id);
  return it == members_.end() ? nullptr : it->second;
}

void ReaderLoop::Post(std::function<void()> work) {
  {
    MutexLock lock(members_mu_);
    posted_.push_back(std::move(work));
    if (has_posted_.exchange(true)) return;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

// One by one: if this thread gets stuck in one of them, whoever takes over goes on with the others.
void ReaderLoop::RunPosted(uint64_t turn) {
  while (turn_.load(std::memory_order_relaxed) == turn) {
    std::function<void()> work;
    {
      MutexLock lock(members_mu_);
      if (posted_.empty()) return has_posted_.store(false);
      work = std::move(posted_.front());
      posted_.pop_front();
    }
    work();
  }
}

void ReaderLoop::Stop() {
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    stopping_ = true;
  }
  stop_.store(true);
  Post([] {});
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    while (!ended_) wake_watcher_.Wait(mu_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void ReaderLoop::StartThread() {
  threads_.emplace_back([this] { ThreadMain(); });
}

void ReaderLoop::ThreadMain() {
  while (AwaitTurn()) {
    if (Read()) continue;
    MutexLock lock(mu_);
    ended_ = true;
    wake_watcher_.NotifyAll();
    wake_spare_.NotifyAll();
    return;
  }
}

bool ReaderLoop::AwaitTurn() {
  MutexLock lock(mu_);
  if (!has_reader_) return has_reader_ = true;
  ++spares_;
  while (has_watcher_ && !ended_) wake_spare_.Wait(mu_);
  --spares_;
  if (ended_) return false;
  has_watcher_ = true;
  const bool reads = WatchReader();
  has_watcher_ = false;
  // Somebody has to watch the new reader in its turn.
  if (reads && spares_ > 0) wake_spare_.NotifyOne();
  if (reads && spares_ == 0 && static_cast<int>(threads_.size()) < kMaxThreads && !stopping_) StartThread();
  return reads;
}

// True: the reader is stuck, and this thread has taken its place.
bool ReaderLoop::WatchReader() {
  uint64_t seen = turn_.load();
  while (!ended_) {
    const bool soon = watch_soon_.exchange(false);
    wake_watcher_.WaitUntil(mu_, std::chrono::steady_clock::now() + (soon ? kWatchSoon : kWatchInterval));
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
    while (turn_.load() == seen && watcher_asleep_.load() && !ended_) wake_watcher_.Wait(mu_);
    watcher_asleep_.store(false);
  }
  return false;
}

void ReaderLoop::Watch() {
  if (watch_soon_.exchange(true)) return;
  MutexLock lock(mu_);
  wake_watcher_.NotifyAll();
}

void ReaderLoop::BeginTurn(uint64_t turn) {
  turn_.store(turn);
  if (!watcher_asleep_.load()) return;
  MutexLock lock(mu_);
  watcher_asleep_.store(false);
  wake_watcher_.NotifyAll();
}

bool ReaderLoop::Read() {
  reading = this;
  epoll_event events[kMaxEvents];
  while (true) {
    const int count = Wait(events, kMaxEvents);
    const uint64_t mine = turn_.load(std::memory_order_relaxed) + 1;
    BeginTurn(mine);
    if (has_posted_.load(std::memory_order_relaxed)) RunPosted(mine);
    // Whoever takes over finds the rest of the events again.
    for (int i = 0; i < count && turn_.load(std::memory_order_relaxed) == mine; ++i) {
      if (events[i].data.u64 == kWakeId) {
        uint64_t wakes;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &wakes, sizeof(wakes));
        RunPosted(mine);
      } else if (const std::shared_ptr<Member> member = Find(events[i].data.u64)) {
        member->OnReady(events[i].events);
      }
    }
    uint64_t expected = mine;
    if (!turn_.compare_exchange_strong(expected, mine + 1)) return true;
    if (stop_.load() && !has_posted_.load()) return false;
  }
}

int ReaderLoop::Wait(void* memory, int max) {
  auto* events = static_cast<epoll_event*>(memory);
  int count = epoll_wait(epoll_.get(), events, max, 0);
  if (count > 0 || has_posted_.load()) return count;
  int64_t now = NowNanos();
  spin_.Worked(now);
  while (spin_.ShouldSpin(now)) {
    now = spin_.contention().Yield();  // who has work to do goes first
    count = epoll_wait(epoll_.get(), events, max, 0);
    if (count > 0) return count;
  }
  const int64_t begin = NowNanos();
  do {
    count = epoll_wait(epoll_.get(), events, max, -1);
  } while (count < 0 && errno == EINTR);
  now = NowNanos();
  spin_.Woke(now, now - begin, count > 0);
  return count;
}

}  // namespace millstream
