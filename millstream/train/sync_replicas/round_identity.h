// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SYNC_REPLICAS_ROUND_IDENTITY_H_
#define MILLSTREAM_TRAIN_SYNC_REPLICAS_ROUND_IDENTITY_H_

#include <cstdint>

#include "millstream/base/mutex.h"
#include "millstream/train/input/queue_runner.h"

namespace millstream {

// Which step the chief of a synchronous training runs: a round, which applies the mean of gradients to each variable
// and then adds 1 to the global step. One that an outage has ended is made again from new gradients, under the same
// identity, so that variables which it had updated are passed over. If the global step shows that it was done, or was
// restored, the next one is another round. Thread-safe.
class RoundIdentity final : public QueueRunner::Repeats {
 public:
  RoundIdentity();
  // A session begins, at this global step.
  void Begin(int64_t global_step);

  StepIdentity Current() override;
  void Answered() override;

 private:
  Mutex mu_;
  StepIdentity identity_ ABSL_GUARDED_BY(mu_);
  int64_t global_step_ ABSL_GUARDED_BY(mu_) = 0;  // at which the round began
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SYNC_REPLICAS_ROUND_IDENTITY_H_
