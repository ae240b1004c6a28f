// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <exception>

#include "millstream/base/core_placement.h"
#include "millstream/base/flush_denormals.h"
#include "millstream/base/logging.h"
#include "millstream/base/memory_budget.h"
#include "millstream/base/start_thread.h"
#include "millstream/base/thread_policy.h"

namespace millstream {
namespace {

// Below this much work (ns) a second thread costs more than it saves.
constexpr double kMinRangeCost = 8000;
// A client may ask for any number.
constexpr int kMaxWorkers = 1024;
// After this much spinning a worker begins to yield.
constexpr int64_t kSpinAloneNanos = 10'000;
// Of all pools of this process: several tasks on one host would only slow each other down.
constinit CoreContention contention(10'000'000);
// The core of the thread that this worker helped last. A sleeping worker is not woken there: in virtual machines, which
// pack threads onto few cores, both would share it for as long as the loop runs.
thread_local int helped_core = -1;

}  // namespace

int NumCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

// One ParallelFor() call. Lives on the caller's stack; helpers may touch it only between `started` and `finished`.
struct ThreadPool::Loop {
  absl::FunctionRef<void(int64_t, int64_t)> body;
  int64_t total;
  int64_t block;
  const int core = CurrentCore();  // of the caller
  std::atomic<int64_t> next{0};
  const bool may_fail = AllocationsMayFail::now();
  std::atomic<int> pending_helpers{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};  // the first; written by who set `failed`

  void Work() {
    const AllocationsMayFail as_the_caller(may_fail);
    try {
      for (;;) {
        const int64_t begin = next.fetch_add(block, std::memory_order_relaxed);
        if (begin >= total) return;
        body(begin, std::min(total, begin + block));
      }
    } catch (...) {  // memory has run out; the caller hears of it when nobody uses the loop any more
      if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
      next.store(total, std::memory_order_relaxed);
    }
  }
};

ThreadPool::ThreadPool(int parallelism, bool always_worker) : parallelism_(std::max(1, parallelism)) {
  ring_.resize(1024);
  const int workers = parallelism_ == 1 && always_worker ? 1 : parallelism_ - 1;
  // Where the system has no more threads, those that there are do the work, or the callers.
  for (int i = 0; i < std::min(workers, kMaxWorkers); ++i) {
    std::thread worker;
    if (!StartThread([this] { WorkerMain(); }, &worker).ok()) break;
    workers_.push_back(std::move(worker));
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  {
    MutexLock lock(mu_);
    wake_.NotifyAll();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Schedule(Task task) {
  if (workers_.empty()) return task.run(task.object, task.argument);
  MutexLock lock(mu_);
  if (tail_ - head_ == ring_.size()) {
    std::vector<Task> bigger(ring_.size() * 2);
    for (size_t i = head_; i != tail_; ++i) bigger[i - head_] = ring_[i & (ring_.size() - 1)];
    tail_ -= head_;
    head_ = 0;
    ring_.swap(bigger);
  }
  ring_[tail_++ & (ring_.size() - 1)] = task;
  queued_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) wake_.NotifyOne();
}

void ThreadPool::Schedule(std::function<void()> fn) {
  auto* owned = new std::function<void()>(std::move(fn));
  Schedule(Task{[](void* object, int64_t) {
                  auto* f = static_cast<std::function<void()>*>(object);
                  (*f)();
                  delete f;
                },
                owned, 0});
}

bool ThreadPool::TryPop(Task* task) {
  if (queued_.load(std::memory_order_acquire) == 0) return false;
  MutexLock lock(mu_);
  if (head_ == tail_) return false;
  *task = ring_[head_++ & (ring_.size() - 1)];
  queued_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

int ThreadPool::Withdraw(Loop* loop) {
  MutexLock lock(mu_);
  size_t kept = head_;
  for (size_t i = head_; i != tail_; ++i) {
    const Task& task = ring_[i & (ring_.size() - 1)];
    if (task.object == loop && task.run == &HelpLoop) continue;
    ring_[kept++ & (ring_.size() - 1)] = task;
  }
  const int withdrawn = static_cast<int>(tail_ - kept);
  tail_ = kept;
  queued_.fetch_sub(withdrawn, std::memory_order_relaxed);
  return withdrawn;
}

void ThreadPool::HelpLoop(void* object, int64_t) {
  auto* loop = static_cast<Loop*>(object);
  helped_core = loop->core;
  if (CurrentCore() == loop->core) const OffCore leave(loop->core);
  loop->Work();
  loop->pending_helpers.fetch_sub(1, std::memory_order_release);
}

void ThreadPool::WorkerMain() {
  const FlushDenormals flush;
  Task task;
  for (;;) {
    bool found = TryPop(&task);
    int64_t now = found ? 0 : NowNanos();
    const int64_t start = now;
    for (int i = 1; !found && !stopping_.load(std::memory_order_relaxed); ++i) {
      if (now - start > kPoolSpinNanos || !contention.IsOver(now)) break;
      CpuPause();
      if ((i & 31) == 0) now = now - start < kSpinAloneNanos ? NowNanos() : contention.Yield();
      found = TryPop(&task);
    }
    if (!found) {
      const OffCore wake_elsewhere(helped_core);
      MutexLock lock(mu_);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      while (head_ == tail_ && !stopping_.load()) wake_.Wait(mu_);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
      if (head_ == tail_) return;  // stopping and drained
      task = ring_[head_++ & (ring_.size() - 1)];
      queued_.fetch_sub(1, std::memory_order_relaxed);
    }
    task.run(task.object, task.argument);
  }
}

void ThreadPool::ParallelFor(int64_t total, double cost, absl::FunctionRef<void(int64_t, int64_t)> body,
                             int64_t align) {
  if (total <= 0) return;
  const double total_cost = static_cast<double>(total) * cost;
  int threads = static_cast<int>(std::min<double>(parallelism_, total_cost / kMinRangeCost));
  threads = std::min(threads, 1 + num_workers());
  if (threads <= 1 || total <= align) return body(0, total);
  // Two ranges a thread even out cores of unequal speed without much counter traffic.
  int64_t block = (total + threads * 2 - 1) / (threads * 2);
  block = std::max<int64_t>(1, (block + align - 1) / align) * align;
  Loop loop{body, total, block};
  const int helpers = static_cast<int>(std::min<int64_t>(threads - 1, (total - 1) / block));
  loop.pending_helpers.store(helpers, std::memory_order_relaxed);
  for (int i = 0; i < helpers; ++i) Schedule(Task{&HelpLoop, &loop, 0});
  loop.Work();
  if (loop.pending_helpers.load(std::memory_order_acquire) != 0) {
    loop.pending_helpers.fetch_sub(Withdraw(&loop), std::memory_order_relaxed);
    for (int i = 0; loop.pending_helpers.load(std::memory_order_acquire) != 0; ++i) {
      CpuPause();
      if (i > 500 && (i & 31) == 0) contention.Yield();
    }
  }
  if (loop.failed.load(std::memory_order_relaxed)) [[unlikely]]
    std::rethrow_exception(loop.error);
}

}  // namespace millstream
