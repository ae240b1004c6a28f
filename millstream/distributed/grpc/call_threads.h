// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CALL_THREADS_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CALL_THREADS_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"

namespace millstream {

// Threads for work that may wait, so that the threads that read the network never do. They are started when they are
// needed and end when they have been idle for a while. The work of one owner never takes more than its share, however
// much of it there is; the rest waits its turn. Thread-safe.
class CallThreads {
 public:
  CallThreads(int max_threads, int max_per_owner) : max_threads_(max_threads), max_per_owner_(max_per_owner) {}
  ~CallThreads() { Stop(); }

  void Run(const void* owner, std::function<void()> work);
  // Waits for all work. REQUIRES: no more is brought. Not on one of the threads.
  void Stop();

 private:
  struct Item {
    const void* owner;
    std::function<void()> work;
  };
  void ThreadMain();
  bool TakeNext(Item* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AnyToTake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int max_threads_, max_per_owner_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const void*, int> running_ ABSL_GUARDED_BY(mu_);  // by owner
  int threads_ ABSL_GUARDED_BY(mu_) = 0, idle_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::thread> started_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread::id> ended_ ABSL_GUARDED_BY(mu_);  // of those, to be joined
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CALL_THREADS_H_
