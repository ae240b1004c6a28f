// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CHANNEL_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CHANNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/client_connection.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// Finds and remakes the connection of a channel. Held by the threads that connect, so it may outlive the channel.
class ChannelState final : public std::enable_shared_from_this<ChannelState> {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ChannelState(ClientTarget target) : target_(std::move(target)) {}
  ~ChannelState();

  // Waits for a connection. Unavailable if there is none to be had, unless `options` say to wait for it.
  StatusOr<std::shared_ptr<ClientConnection>> Get(const RpcCallOptions& options);
  // `start` is called with a connection, or the reason why there is none, now or later, on another thread.
  using Start = std::function<void(StatusOr<std::shared_ptr<ClientConnection>>)>;
  void GetAsync(bool wait_for_ready, Start start);
  // Starts the call on a connection, or ends it.
  void StartAsync(const std::shared_ptr<ClientCall>& call, const std::string& path, bool wait_for_ready,
                  Clock::time_point deadline);
  // The connection, if it stands; begins to connect if not.
  std::shared_ptr<ClientConnection> Try();

  const ClientTarget& target() const { return target_; }

 private:
  struct Waiting {
    bool wait_for_ready;
    Start start;
  };
  bool IsConnected() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return connection_ != nullptr && connection_->usable(); }
  // Begins to connect, unless it is too soon after the last time. False: it is.
  bool Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Connect();
  void Retry();

  const ClientTarget target_;
  Mutex mu_;
  CondVar changed_;
  std::shared_ptr<ClientConnection> connection_ ABSL_GUARDED_BY(mu_);
  bool connecting_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t attempts_ ABSL_GUARDED_BY(mu_) = 0;
  Status failure_ ABSL_GUARDED_BY(mu_);  // of the last attempt
  Clock::time_point retry_at_ ABSL_GUARDED_BY(mu_);
  std::chrono::milliseconds backoff_ ABSL_GUARDED_BY(mu_){0};
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
};

class GrpcChannel final : public RpcChannel {
 public:
  explicit GrpcChannel(ClientTarget target);

  Status Call(const std::string& path, const google::protobuf::Message& request, google::protobuf::Message* response,
              const RpcCallOptions& options) override;
  void CallAsync(const std::string& path, const google::protobuf::Message& request, google::protobuf::Message* response,
                 const RpcCallOptions& options, std::function<void(Status)> done) override;
  Status AwaitServer(const RpcCallOptions& options) override;
  bool connected() override { return state_->Try() != nullptr; }
  const std::string& address() const override { return *state_->target().address; }

  const ClientTarget& target() const { return state_->target(); }

 private:
  const std::shared_ptr<ChannelState> state_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CHANNEL_H_
