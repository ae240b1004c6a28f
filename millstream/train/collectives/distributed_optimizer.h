// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_COLLECTIVES_DISTRIBUTED_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_COLLECTIVES_DISTRIBUTED_OPTIMIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/train/collectives/collective_group.h"
#include "millstream/train/collectives/gradient_compression.h"
#include "millstream/train/optimizers/wrapping_optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream {

// Applies the mean of the workers' gradients, by all-reduce and without parameter servers: every worker has all
// variables and makes the same updates. A gradient is reduced as soon as it is there, while the others are computed;
// those that are ready at the same time are fused (docs/collectives.md). Sparse gradients are gathered, or made dense
// where that is smaller or their number of rows is not known. With the same seeds the results are the same, bit for
// bit, from run to run.
class DistributedOptimizer : public WrappingOptimizer {
 public:
  DistributedOptimizer(const std::shared_ptr<Optimizer>& optimizer, std::shared_ptr<CollectiveGroup> group,
                       const GradientCompression& compression = {})
      : DistributedOptimizer(optimizer, std::move(group), compression, "Distributed" + optimizer->name()) {}

  // Means over all workers.
  std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, Output loss,
                                                    const ComputeGradientsOptions& options = {}) override;

 protected:
  DistributedOptimizer(std::shared_ptr<Optimizer> optimizer, std::shared_ptr<CollectiveGroup> group,
                       const GradientCompression& compression, std::string name)
      : WrappingOptimizer(std::move(optimizer), std::move(name), false),
        group_(std::move(group)),
        compression_(compression) {}

  CollectiveGroup& group() const { return *group_; }

 private:
  Grad Mean(const Scope& scope, const GradientAndVariable& g) const;

  const std::shared_ptr<CollectiveGroup> group_;
  const GradientCompression compression_;
};

// Gives all workers the root's values of the global variables when a session has been made: initial ones, or those of
// the checkpoint that it has restored.
std::unique_ptr<SessionRunHook> MakeBroadcastVariablesHook(std::shared_ptr<CollectiveGroup> group, bool is_root);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_COLLECTIVES_DISTRIBUTED_OPTIMIZER_H_
