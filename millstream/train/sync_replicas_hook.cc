// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/train/sync_replicas_optimizer.h"

namespace millstream {
namespace {

constexpr int64_t kReleaseTimeoutMs = 2000;

class SyncReplicasHook : public SessionRunHook {
 public:
  SyncReplicasHook(const SyncReplicasOptimizer& optimizer, bool is_chief, int num_tokens)
      : optimizer_(optimizer), is_chief_(is_chief), num_tokens_(num_tokens) {}

  Status Begin(const Scope& scope) override {
    if (optimizer_.local_step_init_op() == nullptr) {
      return errors::FailedPrecondition("SyncReplicasOptimizer::ApplyGradients() should be called before using the hook.");
    }
    if (is_chief_) init_tokens_op_ = optimizer_.InitTokensOp(scope, num_tokens_);
    return scope.status();
  }

  Status AfterCreateSession(Session& session, Coordinator& coordinator) override {
    Node* init = is_chief_ ? optimizer_.chief_init_op() : optimizer_.local_step_init_op();
    RETURN_IF_ERROR(CheckReady(session, *init));
    std::vector<Tensor> none;
    RETURN_IF_ERROR(session.Run({}, {}, {init->name()}, &none));
    if (!is_chief_) return OkStatus();
    RETURN_IF_ERROR(session.Run({}, {}, {init_tokens_op_->name()}, &none));
    ASSIGN_OR_RETURN(const QueueRunner runner, optimizer_.chief_queue_runner());
    runner.CreateThreads(session, coordinator);
    return OkStatus();
  }

  // A worker that leaves lets go those that wait for a turn which it would have made possible. The cluster may be gone.
  Status End(Session& session) override {
    RunOptions options;
    options.timeout_ms = kReleaseTimeoutMs;
    std::vector<Tensor> none;
    const Status released = session.Run(options, {}, {}, {optimizer_.release_op()->name()}, &none, nullptr);
    if (!released.ok()) LogInfo(absl::StrCat("Other workers were not told that this one leaves: ", released.ToString()));
    return OkStatus();
  }

 private:
  Status CheckReady(Session& session, const Node& init) const {
    std::vector<Tensor> missing;
    RETURN_IF_ERROR(session.Run({}, {optimizer_.ready_for_local_init_op().name()}, {}, &missing));
    if (missing[0].num_elements() == 0) return OkStatus();
    return errors::FailedPrecondition("Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: ",
                                      init.name(), ", error: Variables not initialized: ",
                                      absl::StrJoin(missing[0].flat<std::string>(), ", "));
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
