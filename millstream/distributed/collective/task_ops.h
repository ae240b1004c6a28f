// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_TASK_OPS_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_TASK_OPS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millstream/base/thread_pool.h"
#include "millstream/collective/op_hub.h"
#include "millstream/collective/transport/frame_exchange.h"
#include "millstream/distributed/collective/group_registry.h"
#include "millstream/distributed/collective/task_group.h"
#include "millstream/distributed/wire/frame_router.h"

namespace millstream {

struct TaskOpsOptions {
  std::string task;                              // who we are
  std::map<std::string, std::string> addresses;  // of all tasks of the cluster, this one included
  std::string leader;                            // the task that forms groups; "": chosen among them
  collective::FrameExchange::Connect connect;    // may block
  std::string backend;                           // of groups (collective/backend.h); "": our own algorithms
  int threads = 1;                               // of this task that compute
};

// The collective ops of a task of a cluster. Groups are formed when their ops first run: members are registered with
// the leader (ConfigProto.experimental.collective_group_leader, else the chief, else worker 0), which tells the tasks
// of a complete group who is in it. A group that loses a task fails by name, and is re-formed when its ops run again,
// with the same members or with others. Thread-safe.
class TaskOps final : public collective::OpHub, public FrameReceiver {
 public:
  static constexpr FrameKind kFrames[] = {kCollectiveMessage, kCollectiveControl, kCollectiveGroup};

  explicit TaskOps(TaskOpsOptions options);
  // Ends all groups and threads; links may still call. Before what `connect` uses goes.
  void Stop(const Status& why);

  // A session whose group has failed while none of its ops waited is told so, by Aborted, when it uses it again: the
  // others have been told, too, and may have begun anew.
  void Run(collective::OpRequest request, collective::OpDone done) override;
  // Groups that are formed from now on are formed by this task: in a job whose tasks come and go, one that is there.
  // All members have to name the same one before they use a group. InvalidArgument if the cluster has no such task.
  Status SetLeader(const std::string& task);
  void ForgetUser(const void* user) override;

  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override;
  void Receive(PeerLink& link, Frame frame) override;
  void LinkLost(PeerLink& link, const Status& why) override;

 private:
  ~TaskOps() override;
  // A group as this task knows it.
  struct Known {
    int size = 0;
    std::set<std::string> registered;  // members that the leader was told of
    std::shared_ptr<TaskGroup> group;  // null until it is formed
  };
  // The way to another task: notes keep their order.
  struct Route {
    std::shared_ptr<PeerLink> link;  // null: not connected
    int posted = 0;                  // notes that wait for the thread that connects
  };

  bool IsLocal(const collective::OpRequest& request) const override {
    return request.one_process || request.group_size == 1 || options_.addresses.size() <= 1;
  }
  void Execute(std::shared_ptr<collective::OpRound> round) override;
  void Withdrawn(const collective::OpRound& round, const Status& why) override;
  void AskWhoIsMissing(const collective::OpRound& round, const Answer& answer) override;
  bool HasMet(const collective::OpRound& round) override;

  std::string leader();
  Status CheckEpoch(const collective::OpRequest& request);
  void SetEpoch(const std::pair<const void*, std::string>& user, bool ended_well);
  Status Register(const collective::OpRequest& request);
  void Unregister(const std::string& group);
  // Never blocks.
  void Tell(const std::string& task, GroupNote note);
  void ConnectAndTell(const std::string& task, const GroupNote& note);
  // Tries again for a while if `patiently`: the task may be about to start.
  StatusOr<std::shared_ptr<PeerLink>> Reach(const std::string& task, bool patiently);
  void Undelivered(const GroupNote& note, const Status& why);
  void Handle(const std::string& task, const GroupNote& note);
  // A task that joins a group is answered on the link by which it joined: that one leads to it, also if it was
  // restarted.
  void AnswerOn(PeerLink& link);
  void Formed(const GroupNote& note);
  bool CoresAreScarce(const GroupLayout& layout) const;
  static std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }
  void AnswerAsk(const std::string& task, const GroupNote& note);
  void Answered(const std::string& question, const std::string& missing);
  // `epoch` 0: before it was formed.
  void Fail(const std::string& name, uint64_t epoch, const Status& why, bool tell);
  // `epoch` 0: whichever there is.
  std::shared_ptr<TaskGroup> Find(const std::string& name, uint64_t epoch);
  TaskGroup::Callbacks CallbacksFor(const GroupNote& note);
  void KeepEarly(const std::string& task, const GroupNote& note);
  // Ends the group's thread, on another.
  void Retire(std::shared_ptr<TaskGroup> group, const Status& why);
  StatusOr<std::unique_ptr<collective::Group>> FormGroup(const TaskGroup& group);

  const TaskOpsOptions options_;
  GroupRegistry registry_;  // of the leader
  collective::FrameExchange exchange_;
  Mutex mu_;
  std::string leader_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Route> routes_ ABSL_GUARDED_BY(mu_);
  // Notes from tasks that have heard of their group's new epoch before this one.
  std::vector<std::pair<std::string, GroupNote>> early_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Answer> questions_ ABSL_GUARDED_BY(mu_);
  // The epochs of groups that sessions have used last and without a failure.
  std::map<std::pair<const void*, std::string>, uint64_t> used_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> failures_ ABSL_GUARDED_BY(mu_);  // why groups failed last
  uint64_t last_question_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::unique_ptr<ThreadPool> connecting_ ABSL_GUARDED_BY(mu_), ending_ ABSL_GUARDED_BY(mu_);  // null: not needed yet
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_TASK_OPS_H_
