// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_OPTIMIZER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/train/input/queue_runner.h"
#include "millstream/train/optimizers/moving_averages.h"
#include "millstream/train/optimizers/wrapping_optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream {

// One update from the mean of any N gradients. Workers push gradients to accumulators beside the variables, marked with
// the step that they were computed at; stale ones are dropped. The chief takes means, applies them with the optimizer
// that this one wraps, and hands out a token for the next step to each replica. With more replicas than are aggregated,
// the slowest are backups.
//
// Every worker runs the op that ApplyGradients() returns, in a session with the hook (or, without a MonitoredSession:
// the chief runs chief_init_op() and InitTokensOp() once and starts chief_queue_runner(); the others run
// local_step_init_op()). Queues and accumulators have the names that TensorFlow's and Millstream's Python programs use:
// workers of both kinds may work together.
class SyncReplicasOptimizer : public WrappingOptimizer {
 public:
  struct Options {
    int replicas_to_aggregate = 1;
    int total_num_replicas = 0;  // 0: as many as are aggregated
    // Updated after each step, if given; needs variables.
    std::shared_ptr<ExponentialMovingAverage> variable_averages = nullptr;
    std::vector<GraphVariable> variables_to_average = {};
    bool use_locking = false;
    std::string name = "sync_replicas";
  };
  SyncReplicasOptimizer(std::shared_ptr<Optimizer> optimizer, const Options& options);

  // InvalidArgument without a global step. `scope` is the worker's: the variable that holds the step of this worker is
  // made there.
  Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                       const ApplyGradientsOptions& options = {}) override;

  // These are there after ApplyGradients(); FailedPrecondition, or null, before.
  StatusOr<QueueRunner> chief_queue_runner() const;
  // Fills the token queue for the first steps: by default with one token for each gradient that is aggregated.
  // InvalidArgument, in the scope's status, if these are too few to finish the first step.
  Node* InitTokensOp(const Scope& scope, int num_tokens = -1) const;
  Node* chief_init_op() const { return chief_init_op_; }
  Node* local_step_init_op() const { return local_step_init_op_; }
  // The names of variables that must have values before the init ops run.
  Output ready_for_local_init_op() const { return ready_for_local_init_op_; }
  const GraphVariable& global_step() const { return global_step_; }
  // Lets go the workers that wait for a token; a worker that leaves runs it.
  Node* release_op() const { return release_op_; }
  // A chief runs the first when it begins and the second when it ends well; workers watch the third, and end with the
  // chief: nobody would answer their gradients.
  Node* chief_begins_op() const { return chief_begins_op_; }
  Node* chief_ends_op() const { return chief_ends_op_; }
  Output num_chief_ends() const { return num_chief_ends_; }

  // Initializes the steps of workers and, on the chief, the tokens and the thread that applies means; ends workers when
  // the chief has ended. The optimizer must outlive it.
  std::unique_ptr<SessionRunHook> MakeSessionRunHook(bool is_chief, int num_tokens = -1) const;

 private:
  struct Accumulated {
    std::vector<Node*> pushes;
    std::vector<GradientAndVariable> means;
    std::vector<Output> accumulators;
  };
  bool Check(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
             const ApplyGradientsOptions& options) const;
  Accumulated Accumulate(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                         const GraphVariable& local_step) const;
  GraphVariable MakeLocalStep(const Scope& scope) const;
  Output Tokens(const Scope& scope, int count) const;
  Node* EnqueueTokens(const Scope& scope, int count) const;
  Node* HandOutTokens(const Scope& scope, const std::vector<Node*>& pushes, Node* update,
                      const GraphVariable& local_step);

  const Options options_;
  const int total_num_replicas_;
  const int tokens_per_step_;
  GraphVariable global_step_;
  Output token_queue_;
  std::optional<QueueRunner> chief_queue_runner_;
  Node* chief_init_op_ = nullptr;
  Node* local_step_init_op_ = nullptr;
  Node* release_op_ = nullptr;
  Node* chief_begins_op_ = nullptr;
  Node* chief_ends_op_ = nullptr;
  Output num_chief_ends_;
  Output ready_for_local_init_op_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_OPTIMIZER_H_
