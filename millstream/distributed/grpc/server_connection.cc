// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/server_connection.h"

#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/server_call.h"
#include "millstream/distributed/trust/peer_user.h"
#include "millstream/distributed/trust/tcp_endpoint.h"

namespace millstream {
namespace {

int64_t Nanos(std::chrono::milliseconds t) { return std::chrono::nanoseconds(t).count(); }

}  // namespace

ServerConnection::ServerConnection(GrpcServer* server, std::unique_ptr<Transport> transport,
                                   const ConnectionLimits& limits, PeerAddress address)
    : Connection(server->loop(), std::move(transport), Http2Session::Side::kServer, limits, address.text),
      server_(server),
      number_(server->NewConnectionNumber()),
      address_(std::move(address)),
      accepted_at_(NowNanos()),
      last_active_(accepted_at_) {}

std::shared_ptr<Http2Stream> ServerConnection::OnNewStream() {
  return std::make_shared<ServerCall>(server_, std::static_pointer_cast<ServerConnection>(shared_from_this()));
}

void ServerConnection::CallOpens() {
  calls_.fetch_add(1, std::memory_order_relaxed);
  open_.fetch_add(1, std::memory_order_relaxed);
  last_active_.store(last_heard_, std::memory_order_relaxed);
}

void ServerConnection::RequestBegins() {
  ++requests_;
  request_heard_ = last_heard_;
}

void ServerConnection::OnHandshakeDone() {
  caller_.certificate = transport_->peer_names();
  if (server_->limits().trusts_same_user) caller_.user = PeerUser(transport_->fd());
  role_ = server_->Admit(caller_);
  if (role_.ok()) session_.WidenWindows();
}

StatusOr<std::string> ServerConnection::AnswerHello(absl::string_view hello) {
  MutexLock lock(mu_);
  if (closed_) return errors::Cancelled("the connection is closed");
  const RpcServerOptions& options = server_->options();
  proof_.emplace(options.token, ServerIdentity{options.name, options.addresses, LocalEndpoint(transport_->fd())},
                 "grpc");
  return proof_->AnswerHello(hello);
}

Status ServerConnection::CheckProof(absl::string_view proof) {
  MutexLock lock(mu_);
  if (!proof_.has_value() || closed_) return errors::FailedPrecondition("the challenge comes before the proof");
  RETURN_IF_ERROR(proof_->CheckProof(proof));
  caller_.proven = proof_->role();
  const bool was_trusted = role_.ok();
  role_ = server_->Admit(caller_);
  if (role_.ok() && !was_trusted) session_.WidenWindows();
  return OkStatus();
}

void ServerConnection::OnClosing(const Status& /*why*/) { server_->Forget(this); }

void ServerConnection::CheckTimes(int64_t now) {
  const ServerLimits& limits = server_->limits();
  const int64_t handshake = Nanos(limits.handshake_timeout);
  if (!greeted_ && now - accepted_at_ > handshake) return CloseLocked(errors::DeadlineExceeded("no handshake in time"));
  if (headers_began_ != 0 && now - headers_began_ > handshake)
    return CloseLocked(errors::DeadlineExceeded("the headers of a call do not end"));
  if (requests_ > 0 && now - request_heard_ > Nanos(limits.stalled_request_timeout))
    return CloseLocked(errors::DeadlineExceeded("a request does not end"));
  if (is_unused() && now - accepted_at_ > Nanos(limits.unused_timeout)) {
    session_.Goaway();
    Flush();
    CloseLocked(errors::DeadlineExceeded("the connection is not used"));
  }
}

}  // namespace millstream
