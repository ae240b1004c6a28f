// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SYNC_REPLICAS_ROUND_IDENTITY_H_
#define MILLSTREAM_TRAIN_SYNC_REPLICAS_ROUND_IDENTITY_H_

#include <cstdint>
#include <string>

#include "millstream/base/mutex.h"
#include "millstream/train/input/queue_runner.h"

namespace millstream {

// Which step the chief of a synchronous training runs: a round, which applies the mean of gradients to each variable
// and then adds 1 to the global step. One that was cut short is made again under the same identity, by this chief or by
// one that takes its place, so that nothing in it is done twice. The identity is the global step at which the round
// begins, counted by the process that holds it. Thread-safe.
class RoundIdentity final : public QueueRunner::Repeats {
 public:
  // `name` tells the optimizers of a graph apart; it is the same in every process that runs the program.
  explicit RoundIdentity(const std::string& name);
  // A session begins, at this global step. `holder`: the incarnation of the device with the global step; 0 if it is not
  // known: then rounds of a chief that was killed are not recognized.
  void Begin(uint64_t holder, int64_t global_step);

  StepIdentity Current() override;
  void Answered() override;

 private:
  const uint64_t seed_;
  Mutex mu_;
  StepIdentity identity_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SYNC_REPLICAS_ROUND_IDENTITY_H_
