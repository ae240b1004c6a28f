// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_TASK_EXCHANGE_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_TASK_EXCHANGE_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/framework/peer_link.h"
#include "millstream/framework/step_exchange.h"

namespace millstream {

// Links by number of the edge; null where this task does not send.
using EdgeLinks = std::vector<std::shared_ptr<PeerLink>>;

// The cut edges of one step at one task: values go out over links, and wait here from when a link brings them until a
// kernel asks, or the other way round. Values may come before the task has been told to run. Thread-safe.
class TaskExchange final : public StepExchange {
 public:
  explicit TaskExchange(uint64_t step) : step_(step) {}

  // Once, before the step's kernels run. `links` must outlive this.
  void Begin(const EdgeLinks* links) { links_ = links; }
  // Likewise: which updates of the step were applied by earlier attempts; null if nobody repeats it.
  void set_updates(class StepUpdates* updates) { updates_ = updates; }
  class StepUpdates* updates() const {
    return updates_;
  }

  Status Send(uint32_t edge, uint64_t tag, Tensor value, bool dead) override;
  void SendInLoop(uint32_t edge, uint64_t tag, Tensor value, bool dead, Sent sent) override;
  void Receive(uint32_t edge, uint64_t tag, Received received) override;

  // From links. `taken_to`: who waits for kTaken, null if nobody. A value that came before is replaced by nothing: the
  // second is dropped.
  void Deliver(uint32_t edge, uint64_t tag, Tensor value, bool dead, std::shared_ptr<PeerLink> taken_to);
  void Taken(uint32_t edge, uint64_t tag);
  // Everybody who waits, now or later, gets this error.
  void Fail(const Status& why);

  // Bytes of values that nobody has asked for.
  size_t waiting_bytes() const;
  // Edges whose values kernels wait for.
  std::vector<uint32_t> AwaitedEdges() const;
  // Changes with every value that comes.
  uint64_t num_delivered() const;

 private:
  using Key = std::pair<uint32_t, uint64_t>;
  struct Slot {
    Tensor value;
    bool dead = false;
    bool arrived = false;
    std::shared_ptr<PeerLink> taken_to;
    Received received;
  };
  StatusOr<PeerLink*> LinkOf(uint32_t edge) const;
  void Acknowledge(const Key& key, PeerLink* to) const;

  const uint64_t step_;
  const EdgeLinks* links_ = nullptr;
  class StepUpdates* updates_ = nullptr;
  mutable Mutex mu_;
  absl::flat_hash_map<Key, Slot> slots_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Key, Sent> sending_ ABSL_GUARDED_BY(mu_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t delivered_ ABSL_GUARDED_BY(mu_) = 0;
  Status failed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_TASK_EXCHANGE_H_
