// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_SERVER_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_SERVER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/event_loop.h"
#include "millstream/distributed/grpc/link_acceptor.h"
#include "millstream/distributed/grpc/server_call.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

class GrpcServer final : public RpcServer {
 public:
  explicit GrpcServer(const RpcServerOptions& options);
  ~GrpcServer() override;

  Status Start(std::vector<RpcMethod> methods);
  int port() const override { return port_; }
  void Shutdown() override;

  const RpcServerOptions& options() const { return options_; }
  grpc_server* server() const { return server_; }
  grpc_completion_queue* queue() const { return loop_.queue(); }
  EventLoop* loop() { return &loop_; }
  // Unauthenticated if this is not the job's token.
  Status CheckToken(absl::string_view token) const;
  // A new slot for calls of `method`, asked for at once.
  void AddSlot(ServerMethod* method);
  // Brackets what must be over before the queue ends: from a call's arrival to the last use of it.
  void Enter() { active_.fetch_add(1, std::memory_order_relaxed); }
  void Leave();

 private:
  class UnknownCall;

  Status Register(std::vector<RpcMethod> methods);
  Status Bind();
  void AwaitCalls();

  const RpcServerOptions options_;
  int port_ = 0;
  EventLoop loop_;
  grpc_server* server_ = nullptr;
  std::vector<std::unique_ptr<ServerMethod>> methods_;
  std::unique_ptr<UnknownCall> unknown_;
  std::unique_ptr<LinkAcceptor> acceptor_;
  std::atomic<int64_t> active_{1};  // one for the server itself, until it shuts down

  Mutex mu_;
  CondVar calls_ended_;
  std::vector<std::unique_ptr<ServerCall>> slots_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  bool all_left_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_SERVER_H_
