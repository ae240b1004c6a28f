// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_TESTING_MEMORY_EXCHANGE_H_
#define MILLSTREAM_RUNTIME_TESTING_MEMORY_EXCHANGE_H_

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/framework/step_exchange.h"

namespace millstream {

// Joins the parts of one step within a process. Callbacks run on the thread that brings the second half of a transfer.
class MemoryExchange final : public StepExchange {
 public:
  Status Send(uint32_t edge, uint64_t tag, Tensor value, bool dead) override;
  void SendInLoop(uint32_t edge, uint64_t tag, Tensor value, bool dead, Sent sent) override;
  void Receive(uint32_t edge, uint64_t tag, Received received) override;

  // Ends everything that waits, and what comes later, with this error.
  void Abort(const Status& status);
  // Values and receivers that never met.
  size_t num_waiting() const;
  int num_transfers() const;

 private:
  struct Meeting {
    bool sent = false;
    Tensor value;
    bool dead = false;
    Sent taken;  // set in loops
    Received received;
  };
  using Key = std::pair<uint32_t, uint64_t>;

  mutable Mutex mu_;
  absl::flat_hash_map<Key, Meeting> waiting_ ABSL_GUARDED_BY(mu_);
  Status status_ ABSL_GUARDED_BY(mu_);
  int transfers_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_TESTING_MEMORY_EXCHANGE_H_
