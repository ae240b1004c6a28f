// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/server.h"

#include <grpc/grpc_security.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "absl/strings/match.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/grpc/core.h"
#include "millstream/distributed/link/known_host.h"

namespace millstream {
namespace {

Status CannotStart(absl::string_view address, absl::string_view why) {
  return absl::UnknownError(absl::StrCat("Could not start gRPC server: ", address, ": ", why));
}

std::string JoinAddress(const std::string& host, int port) {
  return host.find(':') != std::string::npos && host.front() != '[' ? absl::StrCat("[", host, "]:", port)
                                                                    : absl::StrCat(KnownHost(host), ":", port);
}

// gRPC says neither which of the addresses it could not bind nor why, so they are tried before.
Status TryBind(const addrinfo& address, const std::string& text) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return OkStatus();  // this host does not have that family; gRPC passes it over too
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  int error = bind(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == 0 && listen(fd, 1) != 0) error = errno;
  close(fd);
  return error == 0 ? OkStatus() : CannotStart(text, std::strerror(error));
}

Status CheckAddress(const std::string& host, int port) {
  const std::string text = JoinAddress(host, port);
  if (port < 0 || port > 65535) return errors::InvalidArgument("port ", port, " is out of range (0 to 65535)");
  if (host.empty()) return errors::InvalidArgument("the address to bind is empty");
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string bare = bracketed ? host.substr(1, host.size() - 2) : KnownHost(host);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(bare.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return errors::InvalidArgument("cannot bind ", text, ": ", gai_strerror(error));
  Status status;
  bool bound = false;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const Status tried = TryBind(*at, text);
    if (tried.ok())
      bound = true;
    else if (status.ok() || absl::StrContains(tried.message(), std::strerror(EADDRINUSE)))
      status = tried;
  }
  freeaddrinfo(found);
  // A name may have addresses that this host does not (localhost's ::1): one that works is enough, unless a port is
  // taken.
  return bound && !absl::StrContains(status.message(), std::strerror(EADDRINUSE)) ? OkStatus() : status;
}

}  // namespace

// Answers what no method answers.
class GrpcServer::UnknownCall {
 public:
  explicit UnknownCall(GrpcServer* server) : server_(server) {}

  void Request() {
    grpc_call_details_init(&details_);
    grpc_metadata_array_init(&metadata_);
    grpc_server_request_call(server_->server(), &call_, &details_, &metadata_, server_->queue(), server_->queue(),
                             HandToGrpc(&arrived_));
  }

 private:
  static void OnArrived(void* self, bool ok) {
    auto* unknown = static_cast<UnknownCall*>(self);
    grpc_call_details_destroy(&unknown->details_);
    grpc_metadata_array_destroy(&unknown->metadata_);
    if (!ok) return;  // the server shuts down
    unknown->server_->Enter();
    grpc_call* const call = unknown->call_;
    unknown->Request();
    RefuseCall(unknown->server_, call, errors::Unimplemented("no such method"));
  }

  GrpcServer* const server_;
  GrpcTag arrived_ = {OnArrived, this};
  grpc_call* call_ = nullptr;
  grpc_call_details details_;
  grpc_metadata_array metadata_;
};

StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options, std::vector<RpcMethod> methods) {
  auto server = std::make_unique<GrpcServer>(options);
  RETURN_IF_ERROR(server->Start(std::move(methods)));
  return std::unique_ptr<RpcServer>(std::move(server));
}

GrpcServer::GrpcServer(const RpcServerOptions& options) : options_(options), loop_(options.spin) {}

GrpcServer::~GrpcServer() { Shutdown(); }

Status GrpcServer::Start(std::vector<RpcMethod> methods) {
  RETURN_IF_ERROR(CheckAddress(options_.address, options_.port));
  GrpcArgs args;
  args.Add(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options_.max_message_bytes);
  args.Add(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1);
  args.Add(GRPC_ARG_ALLOW_REUSEPORT, 0);
  args.Add(GRPC_ARG_MINIMAL_STACK, options_.max_message_bytes < 0 ? 1 : 0);  // the size check is not in the minimal one
  args.Add(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 1);
  args.Add(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 1);
  args.Add(GRPC_ARG_ENABLE_CHANNELZ, 0);
  args.Add(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  args.Add(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  args.Add(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  server_ = grpc_server_create(args.get(), nullptr);
  grpc_server_register_completion_queue(server_, loop_.queue(), nullptr);
  RETURN_IF_ERROR(Register(std::move(methods)));
  if (options_.links != nullptr) acceptor_ = std::make_unique<LinkAcceptor>(this, *options_.links);
  RETURN_IF_ERROR(Bind());
  grpc_server_start(server_);
  if (acceptor_ != nullptr) acceptor_->Request();
  unknown_ = std::make_unique<UnknownCall>(this);
  unknown_->Request();
  for (const auto& method : methods_) {
    for (int i = 0; i < kServerSlots; ++i) AddSlot(method.get());
  }
  return OkStatus();
}

Status GrpcServer::Register(std::vector<RpcMethod> methods) {
  std::set<std::string> paths;
  for (RpcMethod& method : methods) {
    if (!absl::StartsWith(method.path, "/") || !paths.insert(method.path).second) {
      return errors::InvalidArgument("method '", method.path, "' is named twice, or no path");
    }
    void* registered = grpc_server_register_method(server_, method.path.c_str(), nullptr,
                                                   GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
    methods_.push_back(std::make_unique<ServerMethod>(std::move(method), registered));
  }
  return OkStatus();
}

Status GrpcServer::Bind() {
  ASSIGN_OR_RETURN(grpc_server_credentials* const credentials, MakeServerCredentials(options_.tls));
  const std::string address = JoinAddress(options_.address, options_.port);
  port_ = grpc_server_add_http2_port(server_, address.c_str(), credentials);
  grpc_server_credentials_release(credentials);
  if (port_ <= 0) return CannotStart(address, "cannot listen there");
  return OkStatus();
}

Status GrpcServer::CheckToken(absl::string_view token) const {
  if (options_.token.empty() || SameSecret(token, options_.token)) return OkStatus();
  return absl::UnauthenticatedError(
      "the job token is missing or wrong: MILLSTREAM_TOKEN_FILE must name the same token as the server's");
}

void GrpcServer::AddSlot(ServerMethod* method) {
  ServerCall* call = method->TakeFree();
  if (call == nullptr) {
    MutexLock lock(mu_);
    if (shut_down_) return;
    slots_.push_back(std::make_unique<ServerCall>(this, method));
    call = slots_.back().get();
  }
  call->Request();
}

void GrpcServer::Leave() {
  if (active_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  MutexLock lock(mu_);
  all_left_ = true;
  calls_ended_.NotifyAll();
}

// gRPC's own notice comes earlier, while answers to calls that it has cancelled are still to be given.
void GrpcServer::AwaitCalls() {
  using Clock = std::chrono::steady_clock;
  MutexLock lock(mu_);
  for (auto warn_at = Clock::now() + std::chrono::seconds(30); !all_left_;) {
    if (calls_ended_.WaitUntil(mu_, warn_at) || Clock::now() < warn_at) continue;
    LogWarning(absl::StrCat("server on port ", port_, " waits for calls that are still being answered"));
    warn_at += std::chrono::seconds(30);
  }
}

void GrpcServer::Shutdown() {
  {
    MutexLock lock(mu_);
    if (std::exchange(shut_down_, true)) return;
  }
  GrpcTag tag = {[](void* server, bool) { static_cast<GrpcServer*>(server)->Leave(); }, this};
  if (server_ != nullptr) {
    grpc_server_shutdown_and_notify(server_, loop_.queue(), HandToGrpc(&tag));
    grpc_server_cancel_all_calls(server_);
    AwaitCalls();
  }
  loop_.Stop();
  if (server_ != nullptr) grpc_server_destroy(server_);
  server_ = nullptr;
}

}  // namespace millstream
