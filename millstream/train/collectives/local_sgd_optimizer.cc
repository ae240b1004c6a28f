// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/local_sgd_optimizer.h"

#include "millstream/train/collectives/distributed_optimizer.h"
#include "millstream/train/sessions/step_reader.h"

namespace millstream {
namespace {

bool CanAverage(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf || dtype == DType::kBfloat16;
}

class LocalSgdHook final : public SessionRunHook {
 public:
  LocalSgdHook(const LocalSgdOptimizer& optimizer, std::unique_ptr<SessionRunHook> broadcast)
      : optimizer_(optimizer), broadcast_(std::move(broadcast)) {}

  Status Begin(const Scope& scope) override {
    ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "LocalSgdOptimizer"));
    average_ = optimizer_.AverageOp(scope);  // before the broadcast: all workers count instance keys in this order
    return broadcast_->Begin(scope);
  }
  Status AfterCreateSession(Session& session, Coordinator& coordinator) override {
    RETURN_IF_ERROR(broadcast_->AfterCreateSession(session, coordinator));
    ASSIGN_OR_RETURN(last_, step_.Read(session));
    return OkStatus();
  }
  Status AfterRun(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    ASSIGN_OR_RETURN(const int64_t step, step_.Read(context.session()));
    if (step == last_) return OkStatus();  // it did not train
    last_ = step;
    if (step % optimizer_.average_every() != 0) return OkStatus();
    return context.session().Run({}, {}, {average_->name()}, nullptr);
  }

 private:
  const LocalSgdOptimizer& optimizer_;
  const std::unique_ptr<SessionRunHook> broadcast_;
  StepReader step_;
  Node* average_ = nullptr;
  int64_t last_ = 0;
};

}  // namespace

Node* LocalSgdOptimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                        const ApplyGradientsOptions& options) {
  if (average_every_ <= 0) scope.Fail(errors::InvalidArgument("average_every must be positive: ", average_every_));
  if (!options.global_step)
    scope.Fail(errors::InvalidArgument("Global step is required: it says when variables are averaged"));
  return scope.ok() ? wrapped().ApplyGradients(scope, gradients, options) : nullptr;
}

Node* LocalSgdOptimizer::AverageOf(const Scope& scope, const std::vector<GraphVariable>& variables) const {
  const Scope s = scope.NameScope("average_variables");
  std::vector<Node*> all;
  for (const GraphVariable& v : variables) {
    if (!s.ok()) return nullptr;
    if (group_->size() == 1 || !CanAverage(TypeOf(v))) continue;
    const Scope there = s.WithDevice(v.handle.node->device());
    const Output mean = group_->Mean(there, UseVariable(there, v));
    all.push_back(s.ok() ? AssignVariable(there, v, mean).node : nullptr);
  }
  return s.ok() ? Group(s, all) : nullptr;
}

std::unique_ptr<SessionRunHook> LocalSgdOptimizer::MakeSessionRunHook(bool is_chief) const {
  return std::make_unique<LocalSgdHook>(*this, MakeBroadcastVariablesHook(group_, is_chief));
}

}  // namespace millstream
