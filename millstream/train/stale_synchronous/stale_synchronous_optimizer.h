// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_STALE_SYNCHRONOUS_STALE_SYNCHRONOUS_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_STALE_SYNCHRONOUS_STALE_SYNCHRONOUS_OPTIMIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/train/optimizers/wrapping_optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream {

// Asynchronous training with bounded staleness (stale synchronous parallel): each worker's gradients are applied as
// soon as they arrive, but a worker that is `staleness` steps ahead of the slowest one waits for it. With staleness 0
// all workers make their steps together, with a large one nobody ever waits.
//
// Every worker runs the op that ApplyGradients() returns, in a session with the hook (or, without a MonitoredSession:
// runs join_op() before its first step and leave_op() after its last one). The clock lies beside the global step.
class StaleSynchronousOptimizer : public WrappingOptimizer {
 public:
  struct Options {
    int staleness = 3;     // at least 0
    int num_workers = 1;   // at least 1
    int worker_index = 0;  // below num_workers
    std::string name = "stale_synchronous";
  };
  StaleSynchronousOptimizer(std::shared_ptr<Optimizer> optimizer, const Options& options)
      : WrappingOptimizer(std::move(optimizer), options.name, false), options_(options) {}

  // InvalidArgument, in the scope's status, without a global step.
  Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                       const ApplyGradientsOptions& options = {}) override;

  // These are there after ApplyGradients(); null before.
  Node* join_op() const { return join_op_; }
  Node* leave_op() const { return leave_op_; }

  // Joins when a session has been made and leaves at its end. The optimizer must outlive it.
  std::unique_ptr<SessionRunHook> MakeSessionRunHook() const;

 private:
  bool Check(const Scope& scope, const ApplyGradientsOptions& options) const;

  const Options options_;
  Node* join_op_ = nullptr;
  Node* leave_op_ = nullptr;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_STALE_SYNCHRONOUS_STALE_SYNCHRONOUS_OPTIMIZER_H_
