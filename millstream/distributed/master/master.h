// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "millstream/base/notification.h"
#include "millstream/distributed/master/master_session.h"
#include "millstream/distributed/master/peers.h"

namespace millstream {

// What clients may take.
struct MasterLimits {
  size_t sessions = 1 << 13;
  size_t sessions_per_connection = 1 << 11;
  // How long a session stays whose client has no connection any more: it may have lost it, and come back.
  std::chrono::milliseconds lease{600'000};
};

// The sessions that clients have opened at this task. Thread-safe.
class Master {
 public:
  // `observer` is borrowed; null: nobody looks.
  Master(Worker* worker, Peers* peers, TaskObserver* observer = nullptr, const MasterLimits& limits = {});
  // Closes every session.
  ~Master();

  // A session over this task and all others that `config.device_filters` admits, of the server's cluster or of the one
  // that `config` brings; `target`: how the client names this task ("grpc://host:port"). Waits for ps tasks to come up,
  // as long as `config.operation_timeout_in_ms` says (0: for ever, telling who is missing); for all tasks of a cluster
  // that `config` brings. Other tasks are waited for once the graph names them: MasterSession::AwaitTasksOf().
  StatusOr<std::shared_ptr<MasterSession>> Open(const proto::ConfigProto& config, const std::string& target,
                                                Cancellation* cancellation);
  // ResourceExhausted if the client of the call has too many sessions. Before Open().
  Status CheckQuota(RpcCall& call);
  // Ends what belongs to clients that have gone: partial runs at once, sessions when their lease is over.
  void LookAfterClients(std::chrono::steady_clock::time_point now);
  // Aborted if there is none: closed, or from before a restart.
  StatusOr<std::shared_ptr<MasterSession>> Find(const std::string& handle);
  Status Close(const std::string& handle);
  // Session.reset(): deletes the containers' state at all tasks that the filters admit, and ends every session with
  // Aborted.
  Status Reset(const std::vector<std::string>& containers, const std::vector<std::string>& device_filters,
               Cancellation* cancellation);
  // Devices of all tasks that the filters admit, this one's first. Says which do not answer, and goes on without them.
  StatusOr<std::vector<DeviceAttributes>> ListDevices(const std::vector<std::string>& device_filters,
                                                      Cancellation* cancellation);

  const std::string& task() const { return worker_->task(); }
  size_t num_sessions() const;
  std::vector<std::shared_ptr<MasterSession>> Sessions() const;
  const StepCounters& steps() const { return steps_; }
  // The steps of all sessions, as those of MasterSession.
  std::vector<uint64_t> RunningSteps() const;
  void CancelSteps(const std::set<uint64_t>& steps, const Status& why);
  TraceRequests& traces() { return traces_; }
  TimerQueue& timers() { return timers_; }

 private:
  using Tasks = std::vector<std::shared_ptr<ClusterTask>>;
  using Deadline = std::chrono::steady_clock::time_point;
  // Names of the tasks that the filters admit, but for this one.
  StatusOr<std::vector<std::string>> AdmittedPeers(const std::vector<std::string>& device_filters) const;
  // This task and those; waits until all are up.
  StatusOr<Tasks> FindTasks(const std::vector<std::string>& names, Cancellation* cancellation, Deadline deadline);
  Status ChooseTasks(const proto::ConfigProto& config, Cancellation* cancellation, Deadline deadline,
                     MasterSessionOptions* options);
  void WatchClients();
  // Those of a cluster that a client brought, under its names.
  StatusOr<Tasks> FindRenamed(const SessionCluster& cluster, const std::vector<std::string>& device_filters,
                              Cancellation* cancellation, std::chrono::steady_clock::time_point deadline);
  int64_t MostWork() const;  // over all sessions

  Worker* const worker_;
  Peers* const peers_;
  TaskObserver* const observer_;
  const MasterLimits limits_;
  const std::shared_ptr<LocalTask> local_;
  TimerQueue timers_;
  StepCounters steps_;
  TraceRequests traces_{[this] { return MostWork(); }};
  std::atomic<uint64_t> next_step_;
  mutable Mutex mu_;
  std::unordered_map<std::string, std::shared_ptr<MasterSession>> sessions_ ABSL_GUARDED_BY(mu_);
  Notification quit_;
  std::thread clients_;  // looks after them
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_H_
