// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_COLLECTIVES_LOCAL_SGD_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_COLLECTIVES_LOCAL_SGD_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "millstream/train/collectives/collective_group.h"
#include "millstream/train/optimizers/wrapping_optimizer.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream {

// Local SGD: every worker has all variables and trains on its own, without parameter servers; every `average_every`
// steps all floating point variables, slots of the optimizer among them, become their means over the workers. Workers
// exchange nothing in between. All of them make the same number of steps.
class LocalSgdOptimizer : public WrappingOptimizer {
 public:
  LocalSgdOptimizer(const std::shared_ptr<Optimizer>& optimizer, std::shared_ptr<CollectiveGroup> group,
                    int64_t average_every)
      : WrappingOptimizer(optimizer, "LocalSgd" + optimizer->name(), false),
        group_(std::move(group)),
        average_every_(average_every) {}

  // InvalidArgument, in the scope's status, without a global step or if `average_every` is not positive.
  Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                       const ApplyGradientsOptions& options = {}) override;

  int64_t average_every() const { return average_every_; }
  // A node after which all floating point variables that the graph has so far are means over the workers; and the same
  // for those of `variables`.
  Node* AverageOp(const Scope& scope) const {
    return AverageOf(scope, VariablesIn(scope, graph_keys::kGlobalVariables));
  }
  Node* AverageOf(const Scope& scope, const std::vector<GraphVariable>& variables) const;
  // Gives all workers the variables of the chief when a session has been made, and averages every so many global steps,
  // each of which is one call of Run(). The optimizer must outlive it.
  std::unique_ptr<SessionRunHook> MakeSessionRunHook(bool is_chief) const;

 private:
  const std::shared_ptr<CollectiveGroup> group_;
  const int64_t average_every_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_COLLECTIVES_LOCAL_SGD_OPTIMIZER_H_
