// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_SERVER_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/collective/task_ops.h"
#include "millstream/distributed/graceful_stop.h"
#include "millstream/distributed/job_membership.h"
#include "millstream/distributed/job_roll.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/server_observer.h"
#include "millstream/distributed/server_options.h"
#include "millstream/distributed/stuck_steps.h"

namespace millstream {

// One task of a cluster: master and worker service, and the links to other tasks. Thread-safe.
class Server {
 public:
  // Binds the port and serves. Errors say in one line what is wrong. Most callers want StartServer() of
  // status/start_server.h, which adds the observer behind the status page; without one nobody sees the task, and
  // options.status_port is an error.
  static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                 std::unique_ptr<ServerObserver> observer = nullptr);
  // A cluster of one task, /job:local/replica:0/task:0, on a free port of this host.
  static StatusOr<std::unique_ptr<Server>> StartLocal();
  // As Stop().
  ~Server();

  const std::string& task() const { return task_; }
  const ServerOptions& options() const { return options_; }
  int port() const { return rpc_->port(); }
  std::string target() const;  // "grpc://localhost:2222": for clients in other processes
  // For sessions and trainings of this process: the same target, reached without the network. The server must outlive
  // those sessions.
  SessionOptions session_options() const { return WithThisServer({}); }
  SessionOptions WithThisServer(SessionOptions options) const;

  // Cancels what runs, ends all links and returns when nothing of it is left. The last worker of a job whose training
  // ended well tells the ps tasks that it is done (runtime/job_member.h).
  void Stop();
  // Waits until Stop(), or until the job is ended by `millstream stop` or EndJob().
  void Join();
  // By the last worker, or the job is to stop (`millstream stop`). The latter is RequestStop(), and Join() returns when
  // no session uses this task any more, after 8 s at the latest. `tell_late`, by the last worker: a ps whose job has
  // workers that have not left stays until they have been told or the protocol's deadline has passed, and Join() as
  // long.
  void EndJob(const std::string& reason, bool tell_late = false);
  // This task is to stop: waits for other tasks end, trainings save and end, steps that hang are cancelled. The program
  // then calls Stop().
  void RequestStop(const std::string& reason);
  // Called once, by whichever thread, when the task is told to stop; at once if it has been. Set once.
  void SetOnStop(std::function<void(const std::string& reason)> on_stop);
  // Links to tasks that do not answer are closed, so that nobody waits for them. Blocks for two seconds at most.
  void DropSilentPeers();
  // A program that waits in Join(), or in a loop of its own around ended(), between these.
  void BeginJoin() { ++joining_; }
  void EndJoin() { --joining_; }
  bool job_done() const { return ending_ || ended_.HasBeenNotified(); }
  // Join() does not wait.
  bool ended() const { return ended_.HasBeenNotified(); }

  // A session at this server's master, without the network between. The server must outlive it. `cancellation` ends the
  // wait for other tasks.
  StatusOr<std::unique_ptr<Session>> NewSession(const proto::ConfigProto& config, Cancellation* cancellation = nullptr);

  // Of the status page, "http://127.0.0.1:6006/"; "" if there is none.
  std::string status_url() const { return observer_ == nullptr ? "" : observer_->url(); }

  // Names the task that forms groups of collective ops (TaskOps::SetLeader).
  Status SetCollectiveLeader(const std::string& task) { return collectives_->SetLeader(task); }

  JobMembership& membership() { return *membership_; }
  Master& master() { return *master_; }
  Worker& worker() { return *worker_; }

 private:
  Server(const ServerOptions& options, std::unique_ptr<ServerObserver> observer);
  Status Serve();
  Status MakeWorker();
  Status MakeCollectives();
  void ConnectPeers(const LinkOptions& links);
  void AttachObserver(const std::string& own_address);
  std::vector<RpcMethod> Methods();
  void TellLate();
  void ClientLeft();  // whose training here ended well

  const ServerOptions options_;
  const std::string task_;
  std::string host_;                                // how others name this host
  const std::unique_ptr<ServerObserver> observer_;  // may be null
  Ref<TaskOps> collectives_;                        // links call it until they have ended
  std::unique_ptr<Worker> worker_;
  FrameRouter router_;  // for the links that others dial; dialed ones copy its table
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<LinkHub> hub_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<GracefulStop> graceful_stop_;
  std::unique_ptr<StuckSteps> stuck_steps_;
  Mutex on_stop_mu_;
  std::function<void(const std::string& reason)> on_stop_ ABSL_GUARDED_BY(on_stop_mu_);
  std::string stop_reason_ ABSL_GUARDED_BY(on_stop_mu_);
  Mutex stop_mu_;
  bool stopped_ ABSL_GUARDED_BY(stop_mu_) = false;
  Notification ended_;
  std::atomic<int> joining_{0};
  std::atomic<bool> ending_{false};  // the job is done; those who come late are told so
  std::thread late_;
  std::unique_ptr<JobRoll> roll_;  // of a ps
  std::shared_ptr<JobMembership> membership_;
  class Local;
  std::shared_ptr<Local> local_;  // what session options hold of this server
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_SERVER_H_
