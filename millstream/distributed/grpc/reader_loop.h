// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_READER_LOOP_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_READER_LOOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/base/thread_policy.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

// Descriptors and the threads that serve them, through epoll.
//
// One thread reads and runs what the bytes ask for right there: handing it to another thread would cost a wake-up. A
// second thread looks from time to time whether the reader is stuck in what it runs, and then takes its place. It looks
// soon where the reader has said so (ExpectLongCall()), and rarely otherwise: to be woken for every call would cost as
// much as the call. When all are stuck, another thread is started. What waits for somebody else runs elsewhere
// (call_threads.h), so that this is about computing alone.
class ReaderLoop {
 public:
  class Member {
   public:
    virtual ~Member() = default;
    // epoll events of the descriptor. Two threads may call this at once, if the first was stuck.
    virtual void OnReady(uint32_t events) = 0;
  };

  // A reader that has just had an event looks for the next one for up to `spin` before it blocks.
  explicit ReaderLoop(std::chrono::microseconds spin);
  ~ReaderLoop();  // Stop()

  // Any thread. The id names the member; descriptors are numbers that are used again.
  uint64_t Add(std::shared_ptr<Member> member, int fd, uint32_t events);
  void SetEvents(uint64_t id, int fd, uint32_t events);
  // Before the descriptor is closed. OnReady() may still be running.
  void Remove(uint64_t id, int fd);
  // Runs `work` on the reading thread, soon. Dropped once the loop has stopped.
  void Post(std::function<void()> work);

  // What the reader runs now may take long: whoever watches looks soon.
  void Watch();
  // Ends the threads, after the work that has been posted. Not on one of them.
  void Stop();

 private:
  static constexpr int kMaxThreads = 64;

  void ThreadMain();
  // Until another thread took over (true) or the loop stops (false).
  bool Read();
  int Wait(void* events, int max);
  void RunPosted(uint64_t turn);
  std::shared_ptr<Member> Find(uint64_t id);
  void BeginTurn(uint64_t turn);
  // Waits until this thread is to read; false: the loop has ended.
  bool AwaitTurn();
  bool WatchReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  UniqueFd epoll_, wake_;

  // Twice the number of the turn, plus one while it runs. Who changes it from running to the next number is the reader.
  std::atomic<uint64_t> turn_{0};
  std::atomic<bool> watcher_asleep_{false}, watch_soon_{false}, has_posted_{false}, stop_{false};
  SpinPolicy spin_;  // of the reader alone

  Mutex members_mu_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Member>> members_ ABSL_GUARDED_BY(members_mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(members_mu_) = 1;
  std::deque<std::function<void()>> posted_ ABSL_GUARDED_BY(members_mu_);

  Mutex mu_;
  CondVar wake_watcher_, wake_spare_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
  int spares_ ABSL_GUARDED_BY(mu_) = 0;
  bool has_watcher_ ABSL_GUARDED_BY(mu_) = false;
  bool has_reader_ ABSL_GUARDED_BY(mu_) = false;  // false only at the start
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_READER_LOOP_H_
