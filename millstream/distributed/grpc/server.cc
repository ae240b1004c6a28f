// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/server.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/grpc/protocol.h"
#include "millstream/distributed/grpc/trust_service.h"
#include "millstream/distributed/wire/grpc_link.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBusyThreads = 64;
constexpr uint64_t kDescriptorsForOthers = 256;
constexpr auto kCallGrace = std::chrono::seconds(10);
constexpr auto kFlushGrace = std::chrono::seconds(1);
constexpr int64_t kWarnInterval = 10'000'000'000;

uint64_t RequestBytes(const ServerLimits& limits) {
  if (limits.max_request_bytes > 0) return limits.max_request_bytes;
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
}

}  // namespace

StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options, std::vector<RpcMethod> methods) {
  auto server = std::make_unique<GrpcServer>(options);
  RETURN_IF_ERROR(server->Start(std::move(methods)));
  return std::unique_ptr<RpcServer>(std::move(server));
}

GrpcServer::GrpcServer(const RpcServerOptions& options, const ServerLimits& limits)
    : options_(options),
      limits_(limits),
      quota_(RequestBytes(limits_)),
      waiting_(limits_.waiting_calls, limits_.waiting_calls_per_connection),
      busy_(kBusyThreads, kBusyThreads / 2),
      loop_(options.spin) {}

GrpcServer::~GrpcServer() {
  Shutdown();
  timers_.Stop();  // deadlines of calls that are still referred to post to the loop
}

Status GrpcServer::Start(std::vector<RpcMethod> methods) {
  const uint64_t descriptors = RaiseDescriptorLimit();
  const uint64_t usable =
      descriptors > 2 * kDescriptorsForOthers ? descriptors - kDescriptorsForOthers : descriptors / 2;
  max_connections_ = static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(limits_.max_connections), usable));
  RETURN_IF_ERROR(Register(std::move(methods)));
  if (asks_for_token()) RETURN_IF_ERROR(Register(TrustMethods()));
  if (options_.tls.enabled()) {
    ASSIGN_OR_RETURN(tls_, TlsContext::Load(options_.tls, TlsContext::Side::kServer));
  }
  port_ = options_.port;
  ASSIGN_OR_RETURN(std::vector<UniqueFd> sockets, ListenAtAll(options_.address, &port_));
  for (UniqueFd& socket : sockets) {
    auto listener = std::make_shared<Listener>(
        std::move(socket), [this](UniqueFd fd, PeerAddress peer) { Accept(std::move(fd), std::move(peer)); });
    const uint64_t id = loop_.Add(listener, listener->fd(), EPOLLIN);
    listeners_.emplace_back(std::move(listener), id);
  }
  return OkStatus();
}

Status GrpcServer::Register(std::vector<RpcMethod> methods) {
  for (RpcMethod& method : methods) {
    const std::string path = method.path;
    if (!absl::StartsWith(path, "/") ||
        !methods_.emplace(path, std::make_unique<ServerMethod>(std::move(method))).second) {
      return errors::InvalidArgument("method '", path, "' is named twice, or no path");
    }
  }
  return OkStatus();
}

ServerMethod* GrpcServer::FindMethod(absl::string_view path) {
  const auto it = methods_.find(path);
  return it == methods_.end() ? nullptr : it->second.get();
}

uint64_t GrpcServer::max_message_bytes() const {
  return options_.max_message_bytes < 0 ? std::numeric_limits<int32_t>::max()
                                        : static_cast<uint64_t>(options_.max_message_bytes);
}

StatusOr<Role> GrpcServer::Admit(const Caller& caller) const {
  const bool mutual_tls = options_.tls.enabled() && !options_.tls.ca.empty();
  StatusOr<Role> role = millstream::Admit({asks_for_token(), mutual_tls, options_.insecure}, caller);
  if (role.ok() || !asks_for_token() || !absl::IsUnauthenticated(role.status())) return role;
  return absl::UnauthenticatedError(
      "the job token is missing or wrong: MILLSTREAM_TOKEN_FILE must name the same token as the server's");
}

void GrpcServer::Accept(UniqueFd socket, PeerAddress peer) {
  if (!MakeRoom(peer.host)) return;
  std::unique_ptr<Transport> transport;
  if (tls_ == nullptr) {
    transport = MakePlainTransport(std::move(socket));
  } else if (StatusOr<std::unique_ptr<Transport>> wrapped = tls_->Wrap(std::move(socket), ""); wrapped.ok()) {
    transport = *std::move(wrapped);
  } else {
    return LogWarning(absl::StrCat("a connection from ", peer.text, " is refused: ", wrapped.status().message()));
  }
  Take(std::move(transport), std::move(peer));
}

std::shared_ptr<ServerConnection> GrpcServer::Take(std::unique_ptr<Transport> transport, PeerAddress peer) {
  ConnectionLimits limits = limits_.connection;
  limits.stream_window = limits.connection_window = kUntrustedWindow;  // until it is let in
  auto connection = std::make_shared<ServerConnection>(this, std::move(transport), limits, std::move(peer));
  {
    MutexLock lock(mu_);
    if (shut_down_) return nullptr;
    connections_[connection.get()] = connection;
    ++by_host_[connection->address().host];
  }
  ticker_.Add(connection);
  connection->Start();
  return connection;
}

bool GrpcServer::MakeRoom(const std::string& host) {
  std::shared_ptr<ServerConnection> victim;
  {
    MutexLock lock(mu_);
    const auto it = by_host_.find(host);
    const bool many_of_host = it != by_host_.end() && it->second >= limits_.max_connections_per_peer;
    if (!many_of_host && static_cast<int>(connections_.size()) < max_connections_) return true;
    // Those that have never made a call go first, then those that have made none for the longest time.
    for (const auto& [key, connection] : connections_) {
      if (!connection->is_idle() || (many_of_host && connection->address().host != host)) continue;
      const auto rank = [](const ServerConnection& c) { return std::pair(!c.is_unused(), c.last_active_ns()); };
      if (victim == nullptr || rank(*connection) < rank(*victim)) victim = connection;
    }
    const int64_t now = NowNanos();
    if (warned_at_ == 0 || now - warned_at_ > kWarnInterval) {
      warned_at_ = now;
      LogWarning(absl::StrCat("port ", port_, " has ", connections_.size(), " connections (", host, ": ",
                              it == by_host_.end() ? 0 : it->second, "): idle ones are closed"));
    }
  }
  if (victim == nullptr) return false;
  victim->Close(errors::ResourceExhausted("there are too many connections"));
  return true;
}

void GrpcServer::Forget(ServerConnection* connection) {
  std::shared_ptr<ServerConnection> dropped;
  MutexLock lock(mu_);
  const auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  dropped = std::move(it->second);
  connections_.erase(it);
  const auto host = by_host_.find(connection->address().host);
  if (host != by_host_.end() && --host->second == 0) by_host_.erase(host);
}

std::vector<std::shared_ptr<ServerConnection>> GrpcServer::Connections() {
  std::vector<std::shared_ptr<ServerConnection>> all;
  MutexLock lock(mu_);
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  return all;
}

bool GrpcServer::Enter() {
  active_.fetch_add(1, std::memory_order_acq_rel);
  if (!ending_.load()) return true;
  Leave();
  return false;
}

void GrpcServer::Leave() {
  if (active_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  MutexLock lock(mu_);
  all_left_ = true;
  calls_ended_.NotifyAll();
}

bool GrpcServer::AwaitCallsUntil(Clock::time_point deadline) {
  MutexLock lock(mu_);
  while (!all_left_) {
    if (!calls_ended_.WaitUntil(mu_, deadline)) return all_left_;
  }
  return true;
}

void GrpcServer::AwaitCalls() {
  while (!AwaitCallsUntil(Clock::now() + kCallGrace)) {
    LogWarning(absl::StrCat("server on port ", port_, ": waiting for ", active_.load(),
                            " calls that do not end though they are cancelled"));
  }
}

void GrpcServer::StopStreams(const Status& why, bool at_once) {
  for (const std::shared_ptr<ServerConnection>& connection : Connections()) {
    connection->With([&](Http2Session& session) {
      if (!at_once) session.Goaway();
      session.Stop(why, at_once);
    });
  }
}

void GrpcServer::AwaitFlushed() {
  const auto deadline = Clock::now() + kFlushGrace;
  for (const std::shared_ptr<ServerConnection>& connection : Connections()) {
    while (!connection->flushed() && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void GrpcServer::Shutdown() {
  {
    MutexLock lock(mu_);
    if (std::exchange(shut_down_, true)) return;
  }
  for (const auto& [listener, id] : listeners_) {
    loop_.Remove(id, listener->fd());
    listener->Close();
  }
  ending_.store(true);
  const Status why = errors::Unavailable("the server is shutting down");
  StopStreams(why, /*at_once=*/false);
  Leave();
  // Calls are cancelled, but links have so long for what is queued: their peers may need it.
  if (links() != nullptr && !AwaitCallsUntil(Clock::now() + links()->options.linger))
    StopStreams(why, /*at_once=*/true);
  AwaitCalls();
  AwaitFlushed();
  ticker_.Stop();
  for (const std::shared_ptr<ServerConnection>& connection : Connections()) connection->Close(why);
  waiting_.Stop();
  busy_.Stop();
  loop_.Stop();
}

}  // namespace millstream
