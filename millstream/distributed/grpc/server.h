// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_SERVER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"
#include "millstream/base/timer_queue.h"
#include "millstream/distributed/grpc/call_threads.h"
#include "millstream/distributed/grpc/listener.h"
#include "millstream/distributed/grpc/memory_quota.h"
#include "millstream/distributed/grpc/reader_loop.h"
#include "millstream/distributed/grpc/server_call.h"
#include "millstream/distributed/grpc/server_connection.h"
#include "millstream/distributed/grpc/ticker.h"
#include "millstream/distributed/grpc/tls.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

class GrpcServer final : public RpcServer {
 public:
  explicit GrpcServer(const RpcServerOptions& options, const ServerLimits& limits = {});
  ~GrpcServer() override;

  Status Start(std::vector<RpcMethod> methods);
  int port() const override { return port_; }
  void Shutdown() override;

  // For its connections and calls.
  const RpcServerOptions& options() const { return options_; }
  const ServerLimits& limits() const { return limits_; }
  const GrpcLinkService* links() const { return options_.links.get(); }
  ReaderLoop* loop() { return &loop_; }
  uint64_t NewConnectionNumber() { return 1 + connections_made_.fetch_add(1, std::memory_order_relaxed); }
  TimerQueue& timers() { return timers_; }
  Ticker& ticker() { return ticker_; }
  MemoryQuota* quota() { return &quota_; }
  CallThreads& threads(CallWait wait) { return wait == CallWait::kLong ? waiting_ : busy_; }
  uint64_t max_message_bytes() const;
  ServerMethod* FindMethod(absl::string_view path);
  // What a caller may do: Unauthenticated if it has not shown that it belongs to the job.
  StatusOr<Role> Admit(const Caller& caller) const;
  // Whether anybody at all is let in at once.
  bool asks_for_token() const { return !options_.token.empty(); }
  // Brackets what must be over before the server ends. False: it is ending.
  bool Enter();
  void Leave();
  void Forget(ServerConnection* connection);
  // A connection over a transport that is ready, as if it had been accepted.
  std::shared_ptr<ServerConnection> Take(std::unique_ptr<Transport> transport, PeerAddress peer);

 private:
  Status Register(std::vector<RpcMethod> methods);
  void Accept(UniqueFd socket, PeerAddress peer);
  // Makes room for one more of `host`, where there are too many; false: there is none.
  bool MakeRoom(const std::string& host);
  std::vector<std::shared_ptr<ServerConnection>> Connections();
  void StopStreams(const Status& why, bool at_once);
  // False: calls or links are left at the deadline.
  bool AwaitCallsUntil(std::chrono::steady_clock::time_point deadline);
  void AwaitCalls();
  void AwaitFlushed();

  const RpcServerOptions options_;
  const ServerLimits limits_;
  int port_ = 0;
  int max_connections_ = 0;
  std::atomic<uint64_t> connections_made_{0};
  MemoryQuota quota_;
  std::shared_ptr<TlsContext> tls_;
  absl::flat_hash_map<std::string, std::unique_ptr<ServerMethod>> methods_;
  TimerQueue timers_;
  Ticker ticker_{&timers_};
  CallThreads waiting_, busy_;
  std::vector<std::pair<std::shared_ptr<Listener>, uint64_t>> listeners_;

  Mutex mu_;
  CondVar calls_ended_;
  absl::flat_hash_map<ServerConnection*, std::shared_ptr<ServerConnection>> connections_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, int> by_host_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<int64_t> active_{1};  // one for the server itself, until it shuts down
  std::atomic<bool> ending_{false};
  bool all_left_ ABSL_GUARDED_BY(mu_) = false;
  int64_t warned_at_ ABSL_GUARDED_BY(mu_) = 0;

  ReaderLoop loop_;  // last: its threads use the others
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_SERVER_H_
