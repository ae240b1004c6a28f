// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_THREAD_POOL_H_
#define MILLSTREAM_BASE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "millstream/base/mutex.h"

namespace millstream {

// A fixed set of threads that runs tasks and splits loops. Idle workers spin for a short while before they block, since
// a blocked wake-up costs more than most kernels. Neither Schedule() nor ParallelFor() allocates in the steady state.
// Any thread may call, workers included; a worker that calls ParallelFor() does the work itself if nobody is free.
// The destructor runs what is queued, then joins.
class ThreadPool {
 public:
  // A plain function with two words of arguments, so that queueing needs no heap.
  struct Task {
    void (*run)(void* object, int64_t argument);
    void* object;
    int64_t argument;
  };

  // `parallelism` counts the calling thread: ParallelFor() uses up to that many threads. At least one worker
  // thread is started unless `parallelism` is 1 and `always_worker` is false.
  explicit ThreadPool(int parallelism, bool always_worker = true);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int parallelism() const { return parallelism_; }
  int num_workers() const { return static_cast<int>(workers_.size()); }

  void Schedule(Task task);
  // Convenience for tasks off the hot path; allocates.
  void Schedule(std::function<void()> fn);

  // Calls body(begin, end) on disjoint ranges that cover [0, total), on this thread and on idle workers, and returns
  // when all are done. `cost` is the rough cost of one unit in nanoseconds: small loops stay on this thread.
  // Ranges begin at multiples of `align` (1 by default).
  void ParallelFor(int64_t total, double cost, absl::FunctionRef<void(int64_t, int64_t)> body, int64_t align = 1);

 private:
  struct Loop;
  static void HelpLoop(void* loop, int64_t);
  void WorkerMain();
  bool TryPop(Task* task);
  // Takes back the helper tasks of `loop` that nobody has started; returns how many.
  int Withdraw(Loop* loop);

  const int parallelism_;
  std::atomic<int> queued_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  CondVar wake_;
  std::vector<Task> ring_ ABSL_GUARDED_BY(mu_);  // power-of-two ring buffer
  size_t head_ ABSL_GUARDED_BY(mu_) = 0;
  size_t tail_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::thread> workers_;
};

// The number of cores this process may use.
int NumCores();

}  // namespace millstream

#endif  // MILLSTREAM_BASE_THREAD_POOL_H_
