// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_H_

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "millstream/distributed/master/master_session.h"
#include "millstream/distributed/master/peers.h"

namespace millstream {

// The sessions that clients have opened at this task. Thread-safe.
class Master {
 public:
  // `observer` is borrowed; null: nobody looks.
  Master(Worker* worker, Peers* peers, TaskObserver* observer = nullptr);
  // Closes every session.
  ~Master();

  // A session over this task and all others that `config.device_filters` admits, of the server's cluster or of the one
  // that `config` brings; `target`: how the client names this task ("grpc://host:port"). Waits for those to come up, as
  // long as `config.operation_timeout_in_ms` says (0: for ever, telling who is missing).
  StatusOr<std::shared_ptr<MasterSession>> Open(const proto::ConfigProto& config, const std::string& target,
                                                Cancellation* cancellation);
  // Aborted if there is none: closed, or from before a restart.
  StatusOr<std::shared_ptr<MasterSession>> Find(const std::string& handle);
  Status Close(const std::string& handle);
  // Session.reset(): deletes the containers' state at all tasks that the filters admit, and ends every session with
  // Aborted.
  Status Reset(const std::vector<std::string>& containers, const std::vector<std::string>& device_filters,
               Cancellation* cancellation);
  // Devices of all tasks that the filters admit, this one's first.
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
  StatusOr<Tasks> FindTasks(const std::vector<std::string>& device_filters, Cancellation* cancellation,
                            std::chrono::steady_clock::time_point deadline);
  // Those of a cluster that a client brought, under its names.
  StatusOr<Tasks> FindRenamed(const SessionCluster& cluster, const std::vector<std::string>& device_filters,
                              Cancellation* cancellation, std::chrono::steady_clock::time_point deadline);
  int64_t MostWork() const;  // over all sessions

  Worker* const worker_;
  Peers* const peers_;
  TaskObserver* const observer_;
  const std::shared_ptr<LocalTask> local_;
  TimerQueue timers_;
  StepCounters steps_;
  TraceRequests traces_{[this] { return MostWork(); }};
  std::atomic<uint64_t> next_step_;
  mutable Mutex mu_;
  std::unordered_map<std::string, std::shared_ptr<MasterSession>> sessions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_H_
