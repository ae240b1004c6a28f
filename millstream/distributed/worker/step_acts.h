// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_STEP_ACTS_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_STEP_ACTS_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "millstream/base/cancellation.h"
#include "millstream/base/mutex.h"
#include "millstream/base/thread_pool.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// What the attempts of one step of one client have taken from, and put into, queues and accumulators, by name of the
// node: each node acts in one of them, and its results are kept for the others
// (docs/adr/0044-takes-of-repeated-steps.md). Thread-safe.
class StepActs : public std::enable_shared_from_this<StepActs> {
 public:
  // Of one node. Whoever has its turn alone uses these.
  struct Act {
    int64_t progress = 0;
    std::vector<Tensor> results;
  };
  enum class Turn {
    kAct,   // Ended() must follow
    kDone,  // an earlier attempt has acted
    kWait   // another attempt is at it
  };

  // kWait: `again` is called once, when the other attempt has ended (on a thread of `pool`), or with the error of the
  // cancellation. Nothing is kept in the other cases.
  Turn Claim(const std::string& node, Act** act, Cancellation* cancellation, ThreadPool* pool,
             std::function<void(Status)> again);
  // Without waiting.
  Turn TryClaim(const std::string& node, Act** act);
  // Of the one whose turn it was: if it has not acted, the next one may.
  void Ended(const std::string& node, bool acted);
  bool empty() const;

 private:
  struct Waiter {
    Cancellation* cancellation;
    ThreadPool* pool;
    std::function<void(Status)> again;
    Cancellation::Token token = -1;
    bool told = false;
  };
  using Waiters = std::list<std::shared_ptr<Waiter>>;
  struct State {
    Act act;
    bool acting = false, acted = false;
    Waiters waiters;
  };

  Turn ClaimLocked(State& state, Act** act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveUp(const std::string& node, const std::shared_ptr<Waiter>& waiter);

  mutable Mutex mu_;
  absl::node_hash_map<std::string, State> states_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_STEP_ACTS_H_
