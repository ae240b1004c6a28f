// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_SERVER_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/job_membership.h"
#include "millstream/distributed/job_roll.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/server_observer.h"
#include "millstream/distributed/server_options.h"

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
  // `tell_late`: a ps whose job has workers that have not left stays until they have been told or the protocol's
  // deadline has passed, and Join() as long.
  void EndJob(const std::string& reason, bool tell_late = false);
  bool job_done() const { return ending_ || ended_.HasBeenNotified(); }
  // Join() does not wait.
  bool ended() const { return ended_.HasBeenNotified(); }

  // A session at this server's master, without the network between. The server must outlive it.
  StatusOr<std::unique_ptr<Session>> NewSession(const proto::ConfigProto& config);

  // Of the status page, "http://127.0.0.1:6006/"; "" if there is none.
  std::string status_url() const { return observer_ == nullptr ? "" : observer_->url(); }

  JobMembership& membership() { return *membership_; }
  Master& master() { return *master_; }
  Worker& worker() { return *worker_; }

 private:
  Server(const ServerOptions& options, std::unique_ptr<ServerObserver> observer);
  Status Serve();
  Status MakeWorker();
  void ConnectPeers(const LinkOptions& links);
  void AttachObserver(const std::string& own_address);
  std::vector<RpcMethod> Methods();
  void TellLate();

  const ServerOptions options_;
  const std::string task_;
  std::string host_;                                // how others name this host
  const std::unique_ptr<ServerObserver> observer_;  // may be null
  std::unique_ptr<Worker> worker_;
  FrameRouter router_;  // for the links that others dial; dialed ones copy its table
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<LinkHub> hub_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<RpcServer> rpc_;
  Mutex stop_mu_;
  bool stopped_ ABSL_GUARDED_BY(stop_mu_) = false;
  Notification ended_;
  std::atomic<bool> ending_{false};  // the job is done; those who come late are told so
  std::thread late_;
  std::unique_ptr<JobRoll> roll_;  // of a ps
  std::shared_ptr<JobMembership> membership_;
  class Local;
  std::shared_ptr<Local> local_;  // what session options hold of this server
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_SERVER_H_
