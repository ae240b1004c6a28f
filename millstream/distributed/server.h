// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_SERVER_H_

#include <map>
#include <memory>
#include <string>

#include "millstream/base/notification.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/master.h"
#include "millstream/distributed/rpc.h"

namespace millstream {

// Everything a server needs to know, checked (server_options.h makes it from flags, ServerDef or TF_CONFIG).
struct ServerConfig {
  std::string task;                              // "/job:ps/replica:0/task:0"
  std::map<std::string, std::string> addresses;  // "host:port" of every task, by name; its own may be absent
  std::string bind_address = "127.0.0.1";
  std::string host = "localhost";                // how others name this host; in target()
  int port = 0;                                  // 0: any free one
  std::string job_id;
  std::string token;
  RpcTls tls;
  std::chrono::milliseconds deadline{30'000};    // of everything that the protocol waits for
  LinkOptions links;
  SessionOptions session;                        // threads, number of devices
};

// One task of a cluster: master and worker service, and the links to other tasks. Thread-safe.
class Server {
 public:
  // Binds the port and serves. Errors say in one line what is wrong.
  static StatusOr<std::unique_ptr<Server>> Start(ServerConfig config);
  // A cluster of one task, /job:local/replica:0/task:0, on a free port of this host.
  static StatusOr<std::unique_ptr<Server>> StartLocal();
  // As Stop().
  ~Server();

  const std::string& task() const { return config_.task; }
  int port() const { return rpc_->port(); }
  std::string target() const;  // "grpc://localhost:2222"

  // Cancels what runs, ends all links and returns when nothing of it is left.
  void Stop();
  // Waits until Stop(), or until the job is ended by `millstream stop` or EndJob().
  void Join();
  void EndJob(const std::string& reason);
  bool job_done() const { return ended_.HasBeenNotified(); }

  // A session at this server's master, without the network between. The server must outlive it.
  StatusOr<std::unique_ptr<Session>> NewSession(const proto::ConfigProto& config);
  // The server of this process with that target; null if there is none.
  static Server* Find(const std::string& target);

  Master& master() { return *master_; }
  Worker& worker() { return *worker_; }

 private:
  class AcceptedLinks;
  explicit Server(ServerConfig config);
  Status Serve();

  const ServerConfig config_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<AcceptedLinks> accepted_;
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<LinkHub> hub_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<RpcServer> rpc_;
  Mutex stop_mu_;
  bool stopped_ ABSL_GUARDED_BY(stop_mu_) = false;
  Notification ended_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_SERVER_H_
