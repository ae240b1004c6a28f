// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_COLLECTIVES_HIERARCHICAL_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_COLLECTIVES_HIERARCHICAL_OPTIMIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/train/collectives/distributed_optimizer.h"

namespace millstream {

// Synchronous inside groups of workers, asynchronous between them. Variables lie on ps tasks. The workers of a group,
// usually those of one host, all-reduce their gradients; the first of them applies the means to the variables, whatever
// other groups do meanwhile, and tells the others, which then begin their next step. The global step counts the updates
// of all groups.
//
// What a group knows of the global step is step(): the same for all its workers at the end of each step, whereas the
// global step itself may be moved on by another group at any time. Workers of a group must end together: they end when
// step() says so, which is what the hook does.
class HierarchicalOptimizer : public DistributedOptimizer {
 public:
  struct Options {
    std::vector<int> group_sizes = {1};  // of workers that follow each other
    int worker_index = 0;                // below the sum of the sizes
  };
  HierarchicalOptimizer(const std::shared_ptr<Optimizer>& optimizer, const Options& options);

  // Whether this is the first worker of its group.
  bool is_leader() const { return is_leader_; }

  // InvalidArgument, in the scope's status, without a global step. The train op of a worker that leads no group applies
  // nothing. `scope` is the worker's: the variable that holds its step is made there.
  Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                       const ApplyGradientsOptions& options = {}) override;

  // These are there after ApplyGradients(). The group's step, a local variable; and a node that gives it the global
  // step as the leader sees it, which all workers of a group run when a session has been made.
  const GraphVariable& step() const { return step_; }
  Node* agree_op() const { return agree_op_; }

  // Agrees on the step when a session has been made; ends the session when the group has reached `last_step` (0: leaves
  // that to the caller). The optimizer must outlive it.
  std::unique_ptr<SessionRunHook> MakeSessionRunHook(int64_t last_step = 0) const;

 private:
  bool Check(const Scope& scope, const ApplyGradientsOptions& options) const;
  GraphVariable MakeStep(const Scope& scope, DType dtype) const;
  // Gives the step to all workers of the group; `after` is what the leader's read waits for.
  Node* ShareStep(const Scope& scope, const GraphVariable& global_step, const std::vector<Node*>& after) const;

  const Options options_;
  const bool is_leader_;
  GraphVariable step_;
  Node* agree_op_ = nullptr;
};

// Groups of that size, the last of which may be smaller; and the runs of workers with the same host.
std::vector<int> EqualGroups(int num_workers, int group_size);
std::vector<int> GroupsOfHosts(const std::vector<std::string>& hosts);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_COLLECTIVES_HIERARCHICAL_OPTIMIZER_H_
