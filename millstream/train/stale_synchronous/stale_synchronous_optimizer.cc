// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/stale_synchronous/stale_synchronous_optimizer.h"

#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr int64_t kFarewellMs = 10'000;  // the cluster may have ended already
constexpr char kClockName[] = "stale_synchronous_clock";

class StaleSynchronousHook final : public SessionRunHook {
 public:
  explicit StaleSynchronousHook(const StaleSynchronousOptimizer& optimizer) : optimizer_(optimizer) {}

  Status Begin(const Scope& /*scope*/) override {
    if (optimizer_.join_op() != nullptr) return OkStatus();
    return errors::FailedPrecondition(
        "StaleSynchronousOptimizer::ApplyGradients() should be called before using the hook.");
  }
  Status AfterCreateSession(Session& session, Coordinator& /*coordinator*/) override {
    return session.Run({}, {}, {optimizer_.join_op()->name()}, nullptr);
  }
  Status End(Session& session) override {
    RunOptions options;
    options.timeout_ms = kFarewellMs;
    const Status told = session.Run(options, {}, {}, {optimizer_.leave_op()->name()}, nullptr, nullptr);
    if (!told.ok()) LogInfo(absl::StrCat("Other workers were not told that this one leaves: ", told.ToString()));
    return OkStatus();
  }

 private:
  const StaleSynchronousOptimizer& optimizer_;
};

}  // namespace

bool StaleSynchronousOptimizer::Check(const Scope& scope, const ApplyGradientsOptions& options) const {
  if (!options.global_step) {
    scope.Fail(errors::InvalidArgument("Global step is required: the clock of the workers is placed on its device"));
  }
  if (options_.staleness < 0) {
    scope.Fail(errors::InvalidArgument("staleness must not be negative: ", options_.staleness));
  }
  if (options_.num_workers <= 0) {
    scope.Fail(errors::InvalidArgument("num_workers must be positive: ", options_.num_workers));
  }
  if (options_.worker_index < 0 || options_.worker_index >= options_.num_workers) {
    scope.Fail(errors::InvalidArgument("worker_index must be between 0 and ", options_.num_workers - 1, ": ",
                                       options_.worker_index));
  }
  return scope.ok();
}

Node* StaleSynchronousOptimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                                const ApplyGradientsOptions& options) {
  if (!scope.ok() || !Check(scope, options)) return nullptr;
  Node* const update = wrapped().ApplyGradients(scope, gradients, options);
  if (!scope.ok()) return nullptr;
  const Scope s = scope.NameScope(name()).WithDevice(options.global_step.handle.node->device());
  const Output clock = s.WithOpName("clock").Op("StalenessClock", {},
                                                {{"num_workers", int64_t{options_.num_workers}},
                                                 {"staleness", int64_t{options_.staleness}},
                                                 {"shared_name", kClockName}});
  const Output worker = s.WithOpName("worker").Const(int64_t{options_.worker_index});
  join_op_ = s.WithOpName("join").Add("StalenessClockJoin", {clock, worker});
  leave_op_ = s.WithOpName("leave").Add("StalenessClockLeave", {clock, worker});
  Node* const train =
      s.WithControlDependencies({update}).WithOpName("advance").Add("StalenessClockAdvance", {clock, worker});
  return scope.ok() ? train : nullptr;
}

std::unique_ptr<SessionRunHook> StaleSynchronousOptimizer::MakeSessionRunHook() const {
  return std::make_unique<StaleSynchronousHook>(*this);
}

}  // namespace millstream
