// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/hierarchical_optimizer.h"

#include <algorithm>

#include "millstream/train/input/coordinator.h"
#include "millstream/train/sessions/step_reader.h"

namespace millstream {
namespace {

constexpr int32_t kFirstGroupKey = 1000;  // apart from the key of all workers

// The group of a worker and its place there; a group of one for workers that there are not, which are refused later.
struct Place {
  int group = 0, size = 1, index = 0;
};
Place PlaceOf(const HierarchicalOptimizer::Options& o) {
  int first = 0;
  for (size_t i = 0; i < o.group_sizes.size(); ++i) {
    const int index = o.worker_index - first, size = o.group_sizes[i];
    if (size <= 0 || index < 0) break;
    if (index < size) return {static_cast<int>(i), size, index};
    first += size;
  }
  return {};
}

std::shared_ptr<CollectiveGroup> GroupOf(const HierarchicalOptimizer::Options& o) {
  const Place place = PlaceOf(o);
  return std::make_shared<CollectiveGroup>(place.size, kFirstGroupKey + place.group);
}

class HierarchicalHook final : public SessionRunHook {
 public:
  HierarchicalHook(const HierarchicalOptimizer& optimizer, int64_t last_step)
      : optimizer_(optimizer), last_step_(last_step) {}

  Status Begin(const Scope& /*scope*/) override {
    if (optimizer_.agree_op() != nullptr) return OkStatus();
    return errors::FailedPrecondition(
        "HierarchicalOptimizer::ApplyGradients() should be called before using the hook.");
  }
  Status AfterCreateSession(Session& session, Coordinator& coordinator) override {
    RETURN_IF_ERROR(session.Run({}, {}, {optimizer_.agree_op()->name()}, nullptr));
    ASSIGN_OR_RETURN(const bool ended, HasEnded(session));
    if (ended) coordinator.RequestStop();
    return OkStatus();
  }
  Status AfterRun(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    ASSIGN_OR_RETURN(const bool ended, HasEnded(context.session()));
    if (ended) context.RequestStop();
    return OkStatus();
  }

 private:
  StatusOr<bool> HasEnded(Session& session) const {
    if (last_step_ <= 0) return false;
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session.Run({}, {optimizer_.step().value.name()}, {}, &out));
    ASSIGN_OR_RETURN(const int64_t step, StepReader::ValueOf(out[0]));
    return step >= last_step_;
  }

  const HierarchicalOptimizer& optimizer_;
  const int64_t last_step_;
};

}  // namespace

HierarchicalOptimizer::HierarchicalOptimizer(const std::shared_ptr<Optimizer>& optimizer, const Options& options)
    : DistributedOptimizer(optimizer, GroupOf(options), {}, "Hierarchical" + optimizer->name()),
      options_(options),
      is_leader_(PlaceOf(options).index == 0) {}

bool HierarchicalOptimizer::Check(const Scope& scope, const ApplyGradientsOptions& options) const {
  if (!options.global_step)
    scope.Fail(errors::InvalidArgument("Global step is required: it says when the workers of a group end"));
  int num_workers = 0;
  for (const int size : options_.group_sizes) {
    if (size <= 0) scope.Fail(errors::InvalidArgument("The size of a group must be positive: ", size));
    num_workers += std::max(size, 0);
  }
  if (options_.worker_index < 0 || options_.worker_index >= num_workers) {
    scope.Fail(
        errors::InvalidArgument("worker_index must be between 0 and ", num_workers - 1, ": ", options_.worker_index));
  }
  return scope.ok();
}

// On the worker, whatever device functions say of variables.
GraphVariable HierarchicalOptimizer::MakeStep(const Scope& scope, DType dtype) const {
  Node* const worker = scope.Add("NoOp", {});
  VariableOptions own;
  own.dtype = dtype;
  own.initial_constant = ScalarOf(dtype, 0);
  own.trainable = false;
  own.collections = {graph_keys::kLocalVariables};
  return MakeVariable(scope.ColocateWith(worker), scope.UniqueName("hierarchical_step"), Shape(), own);
}

Node* HierarchicalOptimizer::ShareStep(const Scope& scope, const GraphVariable& global_step,
                                       const std::vector<Node*>& after) const {
  if (!scope.ok()) return nullptr;
  const Scope then = scope.WithControlDependencies(after);
  Output step;
  if (is_leader()) {
    step = group().SendToAll(scope, ReadVariable(then, global_step));
  } else {
    step = group().ReceiveFromRoot(then, TypeOf(global_step), PartialShape(Shape()));
  }
  return scope.ok() ? AssignVariable(scope, step_, step).node : nullptr;
}

Node* HierarchicalOptimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                            const ApplyGradientsOptions& options) {
  if (!scope.ok() || !Check(scope, options)) return nullptr;
  step_ = MakeStep(scope, TypeOf(options.global_step));
  std::vector<Node*> after;
  if (is_leader()) {
    after.push_back(wrapped().ApplyGradients(scope, gradients, options));
  } else {
    for (const GradientAndVariable& g : gradients) {
      const Grad& grad = g.gradient;
      if (grad.IsNone()) continue;
      after.push_back(grad.IsSparse() ? grad.values.node : grad.dense.node);
      if (grad.IsSparse()) after.push_back(grad.indices.node);
    }
  }
  const Scope s = scope.NameScope(name());
  Node* const train = ShareStep(s, options.global_step, after);
  agree_op_ = ShareStep(s, options.global_step, {});
  return scope.ok() ? train : nullptr;
}

std::unique_ptr<SessionRunHook> HierarchicalOptimizer::MakeSessionRunHook(int64_t last_step) const {
  return std::make_unique<HierarchicalHook>(*this, last_step);
}

std::vector<int> EqualGroups(int num_workers, int group_size) {
  std::vector<int> sizes;
  for (int left = num_workers; left > 0 && group_size > 0; left -= group_size) {
    sizes.push_back(std::min(group_size, left));
  }
  return sizes;
}

std::vector<int> GroupsOfHosts(const std::vector<std::string>& hosts) {
  std::vector<int> sizes;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (i > 0 && hosts[i] == hosts[i - 1]) {
      ++sizes.back();
    } else {
      sizes.push_back(1);
    }
  }
  return sizes;
}

}  // namespace millstream
