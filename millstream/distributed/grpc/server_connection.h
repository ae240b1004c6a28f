// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CONNECTION_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CONNECTION_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/distributed/grpc/connection.h"
#include "millstream/distributed/trust/admission.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream {

class GrpcServer;

// Who is at the other end of an accepted socket.
struct PeerAddress {
  std::string host;  // "127.0.0.1": what limits per peer count by
  std::string text;  // "127.0.0.1:40312"
  bool is_loopback = false;
};

// A connection that a client has made, and how far it is trusted.
class ServerConnection final : public Connection {
 public:
  ServerConnection(GrpcServer* server, std::unique_ptr<Transport> transport, const ConnectionLimits& limits,
                   PeerAddress address);

  // Which no other connection of the server has.
  uint64_t number() const { return number_; }
  const PeerAddress& address() const { return address_; }
  bool is_loopback() const { return address_.is_loopback; }

  // With the lock held, by the calls of this connection.
  Http2Session& session() { return session_; }
  void HeadersAreComplete() { headers_began_ = 0; }
  // A request whose message is not complete yet.
  void RequestBegins();
  void RequestGoesOn() { request_heard_ = last_heard_; }
  void RequestEnds() { --requests_; }

  // What the client may do, with the lock held: an error if it has not shown that it may do anything.
  const StatusOr<Role>& role() const { return role_; }
  const std::optional<std::vector<std::string>>& certificate() const { return caller_.certificate; }

  // The two steps of the proof that the client knows the job's token (docs/formats/trust.md). Any thread.
  StatusOr<std::string> AnswerHello(absl::string_view hello);
  Status CheckProof(absl::string_view proof);

  // For the choice of whom to close when there are too many; without the lock.
  bool is_unused() const { return calls_.load(std::memory_order_relaxed) == 0; }
  bool is_idle() const { return open_.load(std::memory_order_relaxed) == 0; }
  int64_t last_active_ns() const { return last_active_.load(std::memory_order_relaxed); }
  // A call has begun to exist, and is over.
  void CallOpens();
  void CallEnds() { open_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  std::shared_ptr<Http2Stream> OnNewStream() override;
  void OnSettings() override { greeted_ = true; }
  void OnHeadersBegin() override { headers_began_ = last_heard_; }
  void OnHandshakeDone() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnClosing(const Status& why) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckTimes(int64_t now) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  GrpcServer* const server_;
  const uint64_t number_;
  const PeerAddress address_;
  const int64_t accepted_at_;
  // Guarded by the lock.
  bool greeted_ = false;
  Caller caller_;
  StatusOr<Role> role_ = absl::UnauthenticatedError("the handshake is not over");
  std::optional<ServerProof> proof_;
  int64_t headers_began_ = 0;  // 0: none are being received
  int64_t request_heard_ = 0;
  int requests_ = 0;

  std::atomic<int64_t> calls_{0}, open_{0}, last_active_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CONNECTION_H_
