// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_WORKER_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_WORKER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/distributed/observer/counters.h"
#include "millstream/distributed/wire/frame_router.h"
#include "millstream/distributed/worker/applied_updates.h"
#include "millstream/distributed/worker/task_session.h"
#include "millstream/framework/partial_exchange.h"
#include "millstream/runtime/sessions/step_register.h"

namespace millstream {

namespace proto {
class RegisterPartRequest;
class StepStats;
}  // namespace proto

class StepWatch;
struct AwaitedTask;

// One task's share of one step.
struct PartRun {
  uint64_t step = 0;
  uint32_t part = 0;
  std::vector<Tensor> args;
  bool traced = false;
  StepIdentity identity;
  Ref<PartialExchange> partial;  // where a step in parts meets its caller; null otherwise
  // Called once, on any thread. `rets` and `stats` (null unless traced) may be moved from.
  std::function<void(Status status, std::vector<Tensor>* rets, proto::StepStats* stats)> done;
};

struct WorkerOptions {
  std::string task;  // "/job:ps/replica:0/task:0"
  uint64_t incarnation = 0;
  SessionOptions session;  // threads, number of devices
  int tasks_on_host = 1;   // of the same job: they share the cores, where `session` names no number of threads
  int64_t max_tensor_bytes = int64_t{64} << 30;  // of one tensor that arrives
  size_t max_early_bytes = size_t{1} << 30;      // of feeds and values for a step that has not begun
  size_t max_early_steps = 4096;                 // that have not begun; what comes for more is dropped
  // That a step waits for another task's values before that task is asked what became of them. Four times that without
  // an answer fail the step.
  std::chrono::milliseconds ask_after{10'000};
};

// What one task does for masters: holds its devices, its state (variables, queues), the sessions that masters opened
// and the parts they registered, and runs those. Thread-safe.
class Worker final : public FrameReceiver {
 public:
  // The link to another task, dialed if there is none yet; `address`: where it is, "" if it is in the server's own
  // cluster. May block, up to the protocol's deadline. Aborted if that task is another incarnation (0: any).
  using Connect = std::function<StatusOr<std::shared_ptr<PeerLink>>(const std::string& task, const std::string& address,
                                                                    uint64_t incarnation)>;

  Worker(const WorkerOptions& options, Connect connect);
  // REQUIRES: no link delivers to it any more. Cancels what runs and waits for it.
  ~Worker() override;

  const std::string& task() const { return options_.task; }
  uint64_t incarnation() const { return options_.incarnation; }
  std::vector<DeviceAttributes> devices() const { return devices_.attributes(); }
  ThreadPool* pool() { return pool_.get(); }

  // Sessions. `master_task` is "" for a master in this process; when the link of another one closes, its sessions go.
  // A session whose client brought its own cluster ends when another master opens one under the same name there, which
  // is what a master does that was restarted elsewhere.
  Status CreateSession(const std::string& name, const SessionOptions& options, SessionCluster cluster,
                       bool isolate_state, std::shared_ptr<FunctionLibrary> library, const std::string& master_task,
                       uint64_t master_incarnation);
  Status DeleteSession(const std::string& name);
  // Parts. Aborted if the session is not known (any more).
  StatusOr<uint32_t> Register(const std::string& session, PrunedGraph graph, EdgeLinks links,
                              std::vector<FromTask> from);
  StatusOr<uint32_t> Register(const proto::RegisterPartRequest& request);
  Status Deregister(const std::string& session, uint32_t part);
  // The link that edges of a session to `task` use.
  StatusOr<std::shared_ptr<PeerLink>> LinkTo(const std::string& session, const std::string& task, uint64_t incarnation);

  // Runs a part; small ones on the calling thread if `may_block`, everything else on the pool.
  void Run(PartRun run, bool may_block);
  void Cancel(uint64_t step, const Status& why);

  // Deletes the resources of these containers; all of the default one if there are none.
  void Reset(const std::vector<std::string>& containers);
  // Cancels all steps.
  void CancelAll(const Status& why);

  // Frames that links bring. Never blocks.
  static constexpr FrameKind kFrames[] = {kFeed,      kRunPart, kCancelStep, kValue,
                                          kLoopValue, kTaken,   kAskStep,    kStepState};
  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override;
  StatusOr<Tensor> Borrow(PeerLink& link, const Frame& frame, const Tensor& memory) override;
  void Receive(PeerLink& link, Frame frame) override;
  void LinkOpened(PeerLink& link) override;
  void LinkLost(PeerLink& link, const Status& why) override;

  size_t num_sessions() const;
  size_t num_retired_sessions() const;  // closed, and kept for what still calls their functions
  // The tasks whose masters have opened them.
  std::vector<std::string> SessionOwners() const;
  size_t num_running() const;
  size_t num_waiting() const;  // steps that have not begun
  // Answers of other tasks to questions about values that steps here wait for.
  uint64_t questions_answered() const { return questions_answered_.value(); }
  const PartCounters& counters() const { return counters_; }
  ResourceManager& resources() { return resources_; }  // of the task; they outlive sessions
  Census& census() const { return *census_; }
  // The value of the variable global_step, if there is one here that is a number.
  std::optional<int64_t> GlobalStep() const;

 private:
  StatusOr<Tensor> TakePayload(PeerLink& link, const Frame& frame, StatusOr<Tensor> tensor);
  struct Step;
  using StepPtr = std::shared_ptr<Step>;

  // The step of that number, made if it has not been heard of; null if it has ended already.
  StepPtr FindStep(uint64_t id, bool create);
  StatusOr<std::shared_ptr<TaskPart>> FindPart(uint32_t part);
  void Begin(const StepPtr& step, std::shared_ptr<TaskPart> part, PartRun run, bool may_block);
  void Execute(const StepPtr& step);
  void End(const StepPtr& step, Status status);
  void RunPartFrame(PeerLink& link, const Frame& frame);
  // Something for the step was refused and will not come again: it fails, also if it begins only later.
  void FailStep(uint64_t id, const Status& why);
  void KeepFeed(Step& step, uint32_t argument, Tensor value);
  void DropStaleSteps();
  // Of a part here that sends values to `asker`. *over: the link that took them, for kSentAll.
  StepState StateOf(uint64_t step, const PeerLink& asker, std::shared_ptr<PeerLink>* over) const;
  StepState StateOfEnded(uint64_t step) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(steps_mu_);
  void AnswerAboutStep(PeerLink& asker, uint64_t step) const;
  // `link`'s task has said what it knows of a step whose values are awaited here.
  void HearAboutStep(const PeerLink& link, uint64_t step, uint32_t state);
  // What steps that began before `begun_before` wait for.
  std::vector<AwaitedTask> AwaitedTasks(std::chrono::steady_clock::time_point begun_before) const;
  std::vector<std::shared_ptr<PeerLink>> LinksWith(uint64_t incarnation) const;
  void WatchSteps();
  StatusOr<std::shared_ptr<TaskSession>> FindSession(const std::string& name);
  // Those that nothing needs any more, to be dropped outside the lock.
  std::vector<std::shared_ptr<TaskSession>> TakeUnneeded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(sessions_mu_);
  // Those of masters with that name in the cluster of their client, but another incarnation.
  void EndSessionsOfOthers(const std::string& master, uint64_t incarnation);
  uint32_t AddPart(std::shared_ptr<TaskPart> part);

  const WorkerOptions options_;
  const Connect connect_;
  std::unique_ptr<ThreadPool> pool_;
  const DeviceSet devices_;
  ResourceManager resources_;
  const Ref<Census> census_ = MakeRef<Census>();
  PartCounters counters_;
  AppliedUpdates applied_;

  mutable Mutex sessions_mu_;
  struct SessionEntry {
    std::shared_ptr<TaskSession> session;
    std::string master_task;
    uint64_t master_incarnation = 0;
  };
  absl::flat_hash_map<std::string, SessionEntry> sessions_ ABSL_GUARDED_BY(sessions_mu_);
  // Closed, but steps still run, or iterators among the task's resources still call their functions.
  std::vector<std::shared_ptr<TaskSession>> retired_ ABSL_GUARDED_BY(sessions_mu_);
  absl::flat_hash_map<uint32_t, std::shared_ptr<TaskPart>> parts_ ABSL_GUARDED_BY(sessions_mu_);
  uint32_t next_part_ ABSL_GUARDED_BY(sessions_mu_) = 1;

  StepRegister<Step> running_;  // begun, and not yet answered
  mutable Mutex steps_mu_;
  absl::flat_hash_map<uint64_t, StepPtr> steps_ ABSL_GUARDED_BY(steps_mu_);  // heard of, and not ended
  // Values that come for these are late and are dropped.
  std::deque<uint64_t> ended_order_ ABSL_GUARDED_BY(steps_mu_);
  absl::flat_hash_map<uint64_t, uint32_t> ended_ ABSL_GUARDED_BY(steps_mu_);  // with their parts

  mutable Mutex links_mu_;
  std::vector<std::weak_ptr<PeerLink>> links_ ABSL_GUARDED_BY(links_mu_);  // open
  RelaxedCounter questions_answered_;
  std::unique_ptr<StepWatch> watch_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_WORKER_H_
