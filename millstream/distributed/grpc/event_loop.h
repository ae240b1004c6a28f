// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_EVENT_LOOP_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_EVENT_LOOP_H_

#include <grpc/grpc.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/thread_policy.h"
#include "millstream/distributed/grpc/hand_over.h"

namespace millstream {

// What a batch of gRPC operations calls when it is done.
struct GrpcTag {
  void (*run)(void* object, bool ok);
  void* object;
};

// A completion queue and the threads that serve it. Tags are pointers to GrpcTag, given by HandToGrpc().
//
// One thread reads the queue and runs what is done right there: handing it to another thread would cost a wake-up, and
// two readers disturb each other (58 against 86 us for an empty call). A second thread looks from time to time whether
// the reader is stuck in what it runs, and then takes its place; so whatever runs may even block. It looks soon where
// the reader has said so (ExpectLongCall()), and rarely otherwise: to be woken for every call would cost as much as the
// call. When all are stuck, another thread is started.
class EventLoop {
 public:
  // A reader that has just had an event looks for the next one for up to `spin` before it blocks. With `held`, the
  // queue is read only while somebody holds the loop: all queues of a process share one wait for the network, and who
  // waits there in vain is in the way of the others.
  explicit EventLoop(std::chrono::microseconds spin, bool held = false);
  ~EventLoop();  // Stop()

  grpc_completion_queue* queue() const { return queue_; }

  // What the reader runs now may take long: whoever watches looks soon.
  void Watch();

  void Hold();
  void Unhold() { holds_.fetch_sub(1); }

  // What wants to be called about four times a second, on the reading thread; must not block.
  class Ticked {
   public:
    virtual ~Ticked() = default;
    virtual void Tick() = 0;
  };
  // Until it is gone.
  void AddTicked(std::weak_ptr<Ticked> ticked);

  // Runs what is still due, then ends the threads. REQUIRES: nothing new is started on the queue; not called from the
  // loop.
  void Stop();

 private:
  static constexpr int kMaxThreads = 64;

  void ThreadMain();
  // Until another thread took over (true) or the queue is shut down (false).
  bool Read();
  grpc_event Next();
  grpc_event Block();
  void RunTicks();
  void AwaitHold();
  // Waits until this thread is to read; false: the loop has ended.
  bool AwaitTurn();
  bool WatchReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool held_;
  grpc_completion_queue* const queue_;

  // Twice the number of the event, plus one while it runs. Who changes it from running to the next number is the
  // reader.
  std::atomic<uint64_t> turn_{0};
  std::atomic<bool> watcher_asleep_{false};
  std::atomic<bool> watch_soon_{false};
  std::atomic<bool> has_ticked_{false};
  std::atomic<int> holds_{0};
  // Of the reader alone.
  SpinPolicy spin_;
  std::chrono::steady_clock::time_point next_tick_;

  Mutex mu_;
  CondVar wake_;
  CondVar spare_wake_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<Ticked>> ticked_ ABSL_GUARDED_BY(mu_);
  int spares_ ABSL_GUARDED_BY(mu_) = 0;
  bool has_watcher_ ABSL_GUARDED_BY(mu_) = false;
  bool has_reader_ ABSL_GUARDED_BY(mu_) = false;  // false only at the start
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_EVENT_LOOP_H_
