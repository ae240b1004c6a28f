// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <optional>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/framework/device_name.h"
#include "millstream/runtime/job_member.h"
#include "millstream/train/sessions/step_reader.h"
#include "millstream/train/sync_replicas/round_identity.h"
#include "millstream/train/sync_replicas/sync_end_rule.h"
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"

namespace millstream {
namespace {

// The cluster may have ended already, so these steps have deadlines; but without them other workers would wait.
constexpr int64_t kLookMs = 2'000, kFarewellMs = 10'000;
constexpr double kWatchSecs = 1;
constexpr std::chrono::seconds kNewChiefComes{10};

Status TryStep(Session& session, const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
               std::vector<Tensor>* values, int64_t timeout_ms) {
  RunOptions options;
  options.timeout_ms = timeout_ms;
  return session.Run(options, {}, fetches, targets, values, nullptr);
}

// Ps tasks that are kept from one run to the next have the mark of the last one.
std::optional<std::chrono::seconds> GraceForNewChief() {
  return PsTasksAreKept() ? std::nullopt : std::optional(kNewChiefComes);
}

// Ends a worker when its chief has ended.
class EndWatch {
 public:
  EndWatch(const SyncReplicasOptimizer& optimizer, Session& session, Coordinator& coordinator)
      : marks_(optimizer.num_chief_ends().name()),
        release_(optimizer.release_op()->name()),
        session_(session),
        coordinator_(coordinator) {}

  // Whether to look again.
  bool Look() {
    std::vector<Tensor> count;
    const Status status = TryStep(session_, {marks_}, {}, &count, kLookMs);
    if (!status.ok())
      return absl::IsDeadlineExceeded(status);  // else the session is over, or says itself what is wrong
    if (!rule_.MustEnd(count[0].scalar<int32_t>(), std::chrono::steady_clock::now())) return true;
    LogInfo("The chief has ended; this worker ends, too.");
    coordinator_.RequestStop();
    std::vector<Tensor> none;
    while (absl::IsDeadlineExceeded(TryStep(session_, {}, {release_}, &none, kFarewellMs))) {
    }
    return false;
  }
  void Watch() {
    while (!coordinator_.WaitForStop(kWatchSecs) && Look()) {
    }
  }
  bool waits() const { return rule_.waits(); }

 private:
  const std::string marks_, release_;
  Session& session_;
  Coordinator& coordinator_;
  SyncEndRule rule_{GraceForNewChief()};
};

// The incarnation of the task that holds a variable; 0 if the graph does not say which one that is.
uint64_t HolderOf(const GraphVariable& variable, Session& session) {
  const StatusOr<DeviceName> place = DeviceName::Parse(variable.handle.node->device());
  if (!place.ok() || !place->job.has_value() || !place->task.has_value()) return 0;
  const std::vector<DeviceAttributes> devices = session.ListDevices();
  const DeviceAttributes* first = nullptr;
  for (const DeviceAttributes& device : devices) {
    const StatusOr<DeviceName> name = DeviceName::Parse(device.name);
    if (name.ok() && place->Matches(*name) && (first == nullptr || device.name < first->name)) first = &device;
  }
  return first == nullptr ? 0 : first->incarnation;
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
    RETURN_IF_ERROR(session.Run({}, {}, {optimizer_.chief_begins_op()->name()}, &none));
    RETURN_IF_ERROR(session.Run({}, {}, {init_tokens_op_->name()}, &none));
    return StartRounds(session, coordinator);
  }

  // Releases the workers that wait for a token which this one would have helped to produce.
  Status End(Session& session) override {
    std::vector<std::string> farewell = {optimizer_.release_op()->name()};
    if (is_chief_) farewell.push_back(optimizer_.chief_ends_op()->name());
    std::vector<Tensor> none;
    const Status told = TryStep(session, {}, farewell, &none, kFarewellMs);
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

  Status StartRounds(Session& session, Coordinator& coordinator) {
    ASSIGN_OR_RETURN(const QueueRunner runner, optimizer_.chief_queue_runner());
    std::vector<Tensor> step;
    RETURN_IF_ERROR(session.Run({}, {optimizer_.global_step().value.name()}, {}, &step));
    ASSIGN_OR_RETURN(const int64_t number, StepReader::ValueOf(step[0]));
    if (rounds_ == nullptr) rounds_ = std::make_shared<RoundIdentity>(runner.ops().enqueue_ops.front());
    rounds_->Begin(HolderOf(optimizer_.global_step(), session), number);
    runner.CreateThreads(session, coordinator, rounds_);
    return OkStatus();
  }

  void WatchForEnd(Session& session, Coordinator& coordinator) const {
    auto watch = std::make_shared<EndWatch>(optimizer_, session, coordinator);
    if (!watch->Look()) return;  // at once: a chief that ends from now on is noticed
    if (watch->waits()) {
      LogInfo(absl::StrCat("The chief ended before this worker started: waiting ",
                           GraceForNewChief() ? absl::StrCat(kNewChiefComes.count(), " s ") : "", "for a new one."));
    }
    const auto body = [watch] {
      watch->Watch();
      return OkStatus();
    };
    coordinator.StartThread("sync_end", body, Coordinator::ThreadKind::kQueueRunner);
  }

  const SyncReplicasOptimizer& optimizer_;
  const bool is_chief_;
  const int num_tokens_;
  Node* init_tokens_op_ = nullptr;
  std::shared_ptr<RoundIdentity> rounds_;  // of the chief, once it has had a session
};

}  // namespace

std::unique_ptr<SessionRunHook> SyncReplicasOptimizer::MakeSessionRunHook(bool is_chief, int num_tokens) const {
  return std::make_unique<SyncReplicasHook>(*this, is_chief, num_tokens);
}

}  // namespace millstream
