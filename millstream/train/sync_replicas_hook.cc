// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/train/sync_replicas_optimizer.h"

namespace millstream {
namespace {

// For steps that matter to others: the cluster may be gone.
constexpr int64_t kPatienceMs = 2000;
constexpr double kWatchSecs = 1;

Status TryStep(Session& session, const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
               std::vector<Tensor>* values) {
  RunOptions options;
  options.timeout_ms = kPatienceMs;
  return session.Run(options, {}, fetches, targets, values, nullptr);
}

class SyncReplicasHook : public SessionRunHook {
 public:
  SyncReplicasHook(const SyncReplicasOptimizer& optimizer, bool is_chief, int num_tokens)
      : optimizer_(optimizer), is_chief_(is_chief), num_tokens_(num_tokens) {}

  Status Begin(const Scope& scope) override {
    if (optimizer_.local_step_init_op() == nullptr) {
      return errors::FailedPrecondition(
          "SyncReplicasOptimizer::ApplyGradients() should be called before using the hook.");
    }
    if (is_chief_) init_tokens_op_ = optimizer_.InitTokensOp(scope, num_tokens_);
    return scope.status();
  }

  Status AfterCreateSession(Session& session, Coordinator& coordinator) override {
    Node* init = is_chief_ ? optimizer_.chief_init_op() : optimizer_.local_step_init_op();
    RETURN_IF_ERROR(CheckReady(session, *init));
    std::vector<Tensor> none;
    RETURN_IF_ERROR(session.Run({}, {}, {init->name()}, &none));
    if (!is_chief_) {
      WatchForEnd(session, coordinator);
      return OkStatus();
    }
    RETURN_IF_ERROR(session.Run({}, {}, {init_tokens_op_->name()}, &none));
    ASSIGN_OR_RETURN(const QueueRunner runner, optimizer_.chief_queue_runner());
    runner.CreateThreads(session, coordinator);
    return OkStatus();
  }

  // A worker that leaves lets go those that wait for a turn which it would have made possible.
  Status End(Session& session) override {
    std::vector<std::string> farewell = {optimizer_.release_op()->name()};
    if (is_chief_) farewell.push_back(optimizer_.chief_ends_op()->name());
    std::vector<Tensor> none;
    const Status told = TryStep(session, {}, farewell, &none);
    if (!told.ok()) LogInfo(absl::StrCat("Other workers were not told that this one leaves: ", told.ToString()));
    return OkStatus();
  }

 private:
  Status CheckReady(Session& session, const Node& init) const {
    std::vector<Tensor> missing;
    RETURN_IF_ERROR(session.Run({}, {optimizer_.ready_for_local_init_op().name()}, {}, &missing));
    if (missing[0].num_elements() == 0) return OkStatus();
    return errors::FailedPrecondition(
        "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: ", init.name(),
        ", error: Variables not initialized: ", absl::StrJoin(missing[0].flat<std::string>(), ", "));
  }

  // Stops this worker when the chief has said that it ends.
  void WatchForEnd(Session& session, Coordinator& coordinator) const {
    const auto num_ends = [&session, name = optimizer_.num_chief_ends().name()]() -> StatusOr<int32_t> {
      std::vector<Tensor> count;
      RETURN_IF_ERROR(TryStep(session, {name}, {}, &count));
      return count[0].scalar<int32_t>();
    };
    const StatusOr<int32_t> before = num_ends();
    if (!before.ok()) return;
    const auto watch = [num_ends, before = *before, release = optimizer_.release_op()->name(), &session, &coordinator] {
      while (!coordinator.WaitForStop(kWatchSecs)) {
        const StatusOr<int32_t> now = num_ends();
        if (!now.ok()) break;  // the session says what is wrong
        if (*now <= before) continue;
        LogInfo("The chief has ended; so does this worker.");
        coordinator.RequestStop();
        std::vector<Tensor> none;
        (void)TryStep(session, {}, {release}, &none);
        break;
      }
      return OkStatus();
    };
    coordinator.StartThread("sync_end", watch, Coordinator::ThreadKind::kQueueRunner);
  }

  const SyncReplicasOptimizer& optimizer_;
  const bool is_chief_;
  const int num_tokens_;
  Node* init_tokens_op_ = nullptr;
};

}  // namespace

std::unique_ptr<SessionRunHook> SyncReplicasOptimizer::MakeSessionRunHook(bool is_chief, int num_tokens) const {
  return std::make_unique<SyncReplicasHook>(*this, is_chief, num_tokens);
}

}  // namespace millstream
