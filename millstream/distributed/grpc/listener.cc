// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/link/known_host.h"
#include "millstream/distributed/link/sockets.h"

namespace millstream {
namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 64;
constexpr int64_t kWarnInterval = 10'000'000'000;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

std::string AddressText(const std::string& host, int port) { return JoinHostPort(KnownHost(host), port); }

Status CannotStart(const std::string& address, int error) {
  return absl::UnknownError(absl::StrCat("Could not start gRPC server: ", address, ": ", std::strerror(error)));
}

void SetPort(sockaddr_storage* address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address->ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = number;
  else
    reinterpret_cast<sockaddr_in*>(address)->sin_port = number;
}

// 0 or an error number; *fd stays empty where this host does not have the family.
int Listen(const addrinfo& at, bool both_families, int* port, UniqueFd* fd) {
  UniqueFd socket(::socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno == EAFNOSUPPORT ? 0 : errno;
  const int on = 1, only = both_families ? 0 : 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (at.ai_family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
  sockaddr_storage address = {};
  std::memcpy(&address, at.ai_addr, at.ai_addrlen);
  SetPort(&address, *port);
  socklen_t size = at.ai_addrlen;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket.get(), raw, size) != 0 || listen(socket.get(), kBacklog) != 0) return errno;
  size = sizeof(address);
  if (getsockname(socket.get(), raw, &size) != 0) return errno;
  *port = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                              : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  *fd = std::move(socket);
  return 0;
}

PeerAddress Describe(const sockaddr_storage& address) {
  PeerAddress peer;
  char number[INET6_ADDRSTRLEN] = "";
  int port = 0;
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    port = ntohs(v6.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
      inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, number, sizeof(number));
    else
      inet_ntop(AF_INET6, &v6.sin6_addr, number, sizeof(number));
  } else {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    port = ntohs(v4.sin_port);
    inet_ntop(AF_INET, &v4.sin_addr, number, sizeof(number));
  }
  peer.host = number;
  peer.text = JoinHostPort(peer.host, port);
  peer.is_loopback = absl::StartsWith(peer.host, "127.") || peer.host == "::1";
  return peer;
}

}  // namespace

StatusOr<std::vector<UniqueFd>> ListenAtAll(const std::string& host, int* port) {
  if (*port < 0 || *port > 65535) return errors::InvalidArgument("port ", *port, " is out of range (0 to 65535)");
  if (host.empty()) return errors::InvalidArgument("the address to bind is empty");
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  std::string bare = bracketed ? host.substr(1, host.size() - 2) : KnownHost(host);
  const std::string text = AddressText(bare, *port);
  // Every address of this host, of both families.
  const bool everywhere = bare == "0.0.0.0" || bare == "::";
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(everywhere ? "::" : bare.c_str(), nullptr, &hints, &found);
  if (error != 0) return errors::InvalidArgument("cannot bind ", text, ": ", gai_strerror(error));
  std::unique_ptr<addrinfo, FreeAddresses> list(found);
  std::vector<UniqueFd> sockets;
  int failed = 0;
  const auto listen_at_all = [&] {
    for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
      UniqueFd socket;
      const int why = Listen(*at, everywhere, port, &socket);
      // A name may have addresses that this host does not (localhost's ::1): one that works is enough, unless a port is
      // taken.
      if (why != 0 && failed != EADDRINUSE) failed = why;
      if (socket) sockets.push_back(std::move(socket));
    }
  };
  listen_at_all();
  if (everywhere && sockets.empty() && failed != EADDRINUSE &&
      getaddrinfo("0.0.0.0", nullptr, &hints, &found) == 0) {  // a host without IPv6
    list.reset(found);
    listen_at_all();
  }
  if (failed == EADDRINUSE || sockets.empty()) return CannotStart(text, failed == 0 ? EADDRNOTAVAIL : failed);
  return sockets;
}

Listener::Listener(UniqueFd socket, Accepted accepted)
    : socket_(std::move(socket)), reserve_(::open("/dev/null", O_RDONLY | O_CLOEXEC)), accepted_(std::move(accepted)) {}

void Listener::OnReady(uint32_t /*events*/) {
  MutexLock lock(mu_);
  for (int i = 0; i < kAcceptsPerTurn && !closed_; ++i) {
    if (!AcceptOne()) return;
  }
}

bool Listener::AcceptOne() {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  UniqueFd socket(::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) {
    SetTcpOptions(socket.get());
    accepted_(std::move(socket), Describe(address));
    return true;
  }
  if (errno == EMFILE || errno == ENFILE) {
    RefuseOne();
    return true;
  }
  return errno == EINTR || errno == ECONNABORTED;
}

// No descriptors are left: without this the socket would stay readable, and the loop would turn for nothing.
void Listener::RefuseOne() {
  reserve_.Close();
  UniqueFd refused(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  refused.Close();
  reserve_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int64_t now = NowNanos();
  if (warned_at_ != 0 && now - warned_at_ < kWarnInterval) return;
  warned_at_ = now;
  LogWarning("a connection is refused: this process has no descriptors left (ulimit -n)");
}

void Listener::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  socket_.Close();
  reserve_.Close();
}

uint64_t RaiseDescriptorLimit() {
  constexpr rlim_t kEnough = rlim_t{1} << 20;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlim_t wanted = std::min(limit.rlim_max, kEnough);
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return std::min(limit.rlim_cur, kEnough);
}

}  // namespace millstream
