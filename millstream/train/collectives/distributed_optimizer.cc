// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/distributed_optimizer.h"

#include "millstream/graph/shape_refiner.h"
#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

// Whether all rows of all workers are fewer numbers than the dense gradient. They must be of the same shape everywhere,
// so one that is not known does not count.
bool IsSmallerSparse(const Scope& scope, const GradientAndVariable& g, int workers) {
  const PartialShape rows = scope.ShapeOf(g.gradient.values);
  if (!CanGather(g.gradient.values.dtype()) || !rows.IsFullyDefined() || !g.variable.shape.IsFullyDefined())
    return false;
  return static_cast<double>(rows.num_elements()) * workers < static_cast<double>(g.variable.shape.num_elements());
}

Output DenseGradOf(const Scope& scope, const GradientAndVariable& g) {
  const Output dense = DenseGrad(scope, g.gradient);
  if (dense && g.variable.shape.rank_known()) scope.Fail(scope.shapes().MergeShape(dense, g.variable.shape));
  return dense;
}

class BroadcastVariablesHook final : public SessionRunHook {
 public:
  BroadcastVariablesHook(std::shared_ptr<CollectiveGroup> group, bool is_root)
      : group_(std::move(group)), is_root_(is_root) {}

  Status Begin(const Scope& scope) override {
    broadcast_ = group_->Broadcast(scope, VariablesIn(scope, graph_keys::kGlobalVariables), is_root_);
    return scope.status();
  }
  Status AfterCreateSession(Session& session, Coordinator& /*coordinator*/) override {
    return session.Run({}, {}, {broadcast_->name()}, nullptr);
  }

 private:
  const std::shared_ptr<CollectiveGroup> group_;
  const bool is_root_;
  Node* broadcast_ = nullptr;
};

}  // namespace

std::vector<GradientAndVariable> DistributedOptimizer::ComputeGradients(const Scope& scope, Output loss,
                                                                        const ComputeGradientsOptions& options) {
  std::vector<GradientAndVariable> gradients = wrapped().ComputeGradients(scope, loss, options);
  const Scope s = scope.NameScope(name());
  for (GradientAndVariable& g : gradients) {
    if (s.ok() && !g.gradient.IsNone() && group_->size() > 1) g.gradient = Mean(s, g);
  }
  return gradients;
}

Grad DistributedOptimizer::Mean(const Scope& scope, const GradientAndVariable& g) const {
  const Grad& gradient = g.gradient;
  const auto mean = [&](const Scope& there, Output dense) {
    return CompressedMean(there, *group_, compression_, g.variable, dense, name());
  };
  if (!gradient.IsSparse()) return mean(scope.WithDevice(gradient.dense.node->device()), gradient.dense);
  const Scope there = scope.WithDevice(gradient.values.node->device());
  if (!IsSmallerSparse(scope, g, group_->size())) return mean(there, DenseGradOf(there, g));
  const Output count = CastTo(there, there.Const(static_cast<float>(group_->size())), gradient.values.dtype());
  const Output values = there.Op("RealDiv", {group_->Gather(there, gradient.values), count});
  return Grad::Slices(values, group_->Gather(there, gradient.indices), gradient.dense_shape);
}

std::unique_ptr<SessionRunHook> MakeBroadcastVariablesHook(std::shared_ptr<CollectiveGroup> group, bool is_root) {
  return std::make_unique<BroadcastVariablesHook>(std::move(group), is_root);
}

}  // namespace millstream
