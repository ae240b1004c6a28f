// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/client_connection.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "google/protobuf/wrappers.pb.h"
#include "millstream/distributed/grpc/client_runtime.h"
#include "millstream/distributed/grpc/protocol.h"
#include "millstream/distributed/grpc/trust_service.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/trust/admission.h"
#include "millstream/distributed/trust/tcp_endpoint.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream {
namespace {

constexpr char kUserAgent[] = "grpc-c++/1.0 millstream";
// After so long without a caller the loop reads again, so that the end of the connection is noticed.
constexpr int64_t kLeaveToLoopAfter = 100'000'000;
// A connection that nobody has read for so long may have ended meanwhile.
constexpr int64_t kLookBeforeCall = 1'000'000;

ConnectionLimits ClientLimits() {
  ConnectionLimits limits;
  limits.max_header_bytes = 64 << 10;
  // A peer whose host is gone is noticed while a call waits.
  limits.keepalive_interval = limits.keepalive_timeout = std::chrono::seconds(20);
  return limits;
}

}  // namespace

StatusOr<std::shared_ptr<ClientConnection>> ClientConnection::Dial(const ClientTarget& target,
                                                                   Clock::time_point deadline) {
  std::string host, port;
  RETURN_IF_ERROR(SplitHostPort(*target.address, &host, &port));
  StatusOr<UniqueFd> socket = ConnectTcp(*target.address, deadline);
  if (!socket.ok()) {
    return errors::Unavailable("failed to connect to all addresses; last error: ", socket.status().message());
  }
  std::unique_ptr<Transport> transport;
  if (target.tls == nullptr) {
    transport = MakePlainTransport(*std::move(socket));
  } else {
    ASSIGN_OR_RETURN(transport, target.tls->Wrap(*std::move(socket), host));
  }
  auto connection = std::make_shared<ClientConnection>(target, std::move(transport));
  connection->Start();
  Client().ticker.Add(connection);
  Status status = connection->AwaitGreeting(deadline);
  if (status.ok()) status = connection->CheckCertificate();
  if (status.ok() && !target.options.token.empty()) status = connection->ProveToken(deadline);
  if (!status.ok()) connection->Close(status);
  RETURN_IF_ERROR(status);
  return connection;
}

ClientConnection::ClientConnection(const ClientTarget& target, std::unique_ptr<Transport> transport)
    : Connection(&Client().loop, std::move(transport), Http2Session::Side::kClient, ClientLimits(), *target.address),
      target_(target),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Status ClientConnection::AwaitGreeting(Clock::time_point deadline) {
  // TLS begins with the client's word.
  OnReady(EPOLLIN);
  MutexLock lock(mu_);
  while (!greeted_ && !closed_) {
    if (!changed_.WaitUntil(mu_, deadline) && Clock::now() >= deadline)
      return errors::Unavailable("the peer does not speak HTTP/2");
  }
  return closed_ ? why_closed_ : OkStatus();
}

// TLS has verified that the certificate is of the authority and for the host; this one, that it is the task's.
Status ClientConnection::CheckCertificate() {
  std::optional<std::vector<std::string>> names;
  {
    MutexLock lock(mu_);
    names = transport_->peer_names();
  }
  if (!names.has_value()) return OkStatus();
  const StatusOr<Role> role = RoleOfCertificate(*names);
  if (!role.ok() || !Includes(*role, Role::kTask))
    return absl::UnauthenticatedError("the certificate of who listens there is not that of a task");
  if (target_.options.server.empty()) return OkStatus();
  const Status status = CheckTaskName(*names, target_.options.server);
  return status.ok() ? status : absl::UnauthenticatedError(status.message());
}

Status ClientConnection::ProveToken(Clock::time_point deadline) {
  const RpcChannelOptions& options = target_.options;
  ASSIGN_OR_RETURN(Credential credential, MakeCredential(options.token, options.role));
  const ProofTarget target{options.server.empty() ? *target_.address : options.server,
                           RemoteEndpoint(transport_->fd())};
  ClientProof proof(std::move(credential), options.name, target, "grpc");
  ASSIGN_OR_RETURN(const std::string hello, proof.Hello());
  ASSIGN_OR_RETURN(const std::string challenge, TrustCall(kChallengePath, hello, deadline));
  ASSIGN_OR_RETURN(const std::string answer, proof.AnswerChallenge(challenge));
  return TrustCall(kProvePath, answer, deadline).status();
}

StatusOr<std::string> ClientConnection::TrustCall(const char* path, const std::string& request,
                                                  Clock::time_point deadline) {
  google::protobuf::BytesValue message, response;
  message.set_value(request);
  ASSIGN_OR_RETURN(OutgoingMessage bytes, SerializeMessage(message));
  const auto call = std::make_shared<ClientCall>(target_.address, std::move(bytes), &response);
  RETURN_IF_ERROR(call->Start(std::static_pointer_cast<ClientConnection>(shared_from_this()), path, deadline));
  Await(*call, deadline);
  const Status status = call->TakeOutcome();
  if (absl::IsUnimplemented(status))
    return absl::UnauthenticatedError("the server does not know the job token: it was started without one");
  RETURN_IF_ERROR(status);
  return response.value();
}

std::vector<HttpHeader> ClientConnection::HeadersFor(absl::string_view path) const {
  std::vector<HttpHeader> headers = {{":method", "POST"},       {":scheme", target_.tls == nullptr ? "http" : "https"},
                                     {":path", path},           {":authority", *target_.address},
                                     {"te", "trailers"},        {"content-type", kGrpcContentType},
                                     {"user-agent", kUserAgent}};
  return headers;
}

Status ClientConnection::StartCall(const std::shared_ptr<ClientCall>& call, const std::string& path,
                                   Clock::time_point deadline) {
  std::vector<HttpHeader> headers = HeadersFor(path);
  std::string timeout;
  if (deadline != Clock::time_point::max()) {
    timeout = FormatTimeout(deadline - Clock::now());
    headers.push_back({"grpc-timeout", timeout, true});
  }
  MutexLock lock(mu_);
  if (!closed_ && !armed_ && !caller_reads_ && NowNanos() - last_heard_ > kLookBeforeCall) ReadSome();
  Status status = errors::Unavailable("the connection is lost: ", why_closed_.message());
  if (!closed_) {
    call->owner_ = this;
    status = session_.StartStream(call, headers);
    Flush();
  }
  if (!status.ok()) usable_.store(false, std::memory_order_release);
  PostDeferred();
  return status;
}

void ClientConnection::LeaveToLoop() {
  MutexLock lock(mu_);
  needs_loop_ = true;
  if (!closed_ && !armed_ && !caller_reads_) SetArmed(true);
}

void ClientConnection::Await(ClientCall& call, Clock::time_point deadline) {
  const int64_t begin = NowNanos();
  MutexLock lock(mu_);
  while (!call.ended()) {
    if (deadline != Clock::time_point::max() && Clock::now() >= deadline) {
      if (!call.closed_ && !closed_) session_.Reset(call, NGHTTP2_CANCEL);
      call.Fail(errors::DeadlineExceeded("Deadline Exceeded"));
      Flush();
    } else if (!caller_reads_ && !closed_) {
      caller_reads_ = true;
      if (armed_) SetArmed(false);
      ReadFor(call, deadline);
      caller_reads_ = false;
      if (waiters_ > 0) changed_.NotifyAll();  // one of them reads
      if (waiters_ == 0 && !closed_ && (needs_loop_ || wants_write_)) SetArmed(true);
    } else {
      ++waiters_;
      changed_.WaitUntil(mu_, std::min(deadline, Clock::now() + std::chrono::hours(1)));
      --waiters_;
    }
  }
  if (!caller_reads_ && waiters_ == 0 && !armed_ && !closed_ && needs_loop_) SetArmed(true);
  PostDeferred();
  wait_policy_.Waited(NowNanos() - begin);
}

void ClientConnection::ReadFor(ClientCall& call, Clock::time_point deadline) {
  LookWindow window(wait_policy_.ShouldLook() ? WaitPolicy::kLookNanos : 0, &contention_);
  while (!call.ended() && !closed_) {
    const bool more = ReadSome();
    Flush();
    if (waiters_ > 0) changed_.NotifyAll();
    PostDeferred();
    if (call.ended() || more || closed_) continue;
    if (deadline != Clock::time_point::max() && Clock::now() >= deadline) return;
    const bool write = wants_write_;
    mu_.Unlock();
    if (!window.Again()) Poll(write, deadline);
    mu_.Lock();
  }
}

// Until the socket is ready, or somebody wakes the reader.
void ClientConnection::Poll(bool write, Clock::time_point deadline) {
  pollfd wanted[2] = {{transport_->fd(), static_cast<short>(POLLIN | (write ? POLLOUT : 0)), 0},
                      {wake_.get(), POLLIN, 0}};
  constexpr int64_t kLongest = 60'000;
  int64_t timeout = kLongest;
  if (deadline != Clock::time_point::max())
    timeout = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  poll(wanted, 2, static_cast<int>(std::clamp<int64_t>(timeout, 0, kLongest)));
  uint64_t wakes;
  if ((wanted[1].revents & POLLIN) != 0) {
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &wakes, sizeof(wakes));
  }
}

void ClientConnection::WakeReader() {
  MutexLock lock(mu_);
  AfterRead();
}

void ClientConnection::AfterRead() {
  if (waiters_ > 0) changed_.NotifyAll();
  if (!caller_reads_) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

void ClientConnection::SetArmed(bool armed) {
  armed_ = armed;
  if (id_ == 0) return;
  loop_->SetEvents(id_, transport_->fd(), armed ? EPOLLIN | EPOLLRDHUP | (wants_write_ ? EPOLLOUT : 0u) : 0u);
}

void ClientConnection::SetInterest(bool write) {
  wants_write_ = write;
  if (caller_reads_) return;  // it polls for both
  if (armed_ || write) SetArmed(true);
}

void ClientConnection::ResetStream(const Http2Stream& stream) { session_.Reset(stream, NGHTTP2_CANCEL); }

void ClientConnection::OnSettings() {
  greeted_ = true;
  changed_.NotifyAll();
}

void ClientConnection::OnClosing(const Status& why) {
  usable_.store(false, std::memory_order_release);
  why_closed_ = why;
  changed_.NotifyAll();
  AfterRead();
}

void ClientConnection::Release() {
  MutexLock lock(mu_);
  usable_.store(false, std::memory_order_release);
  released_ = true;
  CloseIfUnused();
  PostDeferred();
}

void ClientConnection::CloseIfUnused() {
  if (closed_ || session_.num_streams() > 0) return;
  session_.Goaway();
  Flush();
  CloseLocked(errors::Unavailable("the channel is closed"));
}

void ClientConnection::CheckTimes(int64_t now) {
  if (released_) CloseIfUnused();
  if (closed_) return;
  if (session_.num_streams() == 0) needs_loop_ = false;
  if (!armed_ && !caller_reads_ && now - last_heard_ > kLeaveToLoopAfter) SetArmed(true);
}

}  // namespace millstream
