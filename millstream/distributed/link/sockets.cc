// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>

#include "absl/strings/escaping.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/link/known_host.h"
#include "millstream/distributed/trust/hmac.h"

namespace millstream {
namespace {

constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr int kBacklog = 128;
constexpr size_t kMaxDescriptors = 4;

Status SystemError(const char* what) { return errors::Unavailable(what, ": ", std::strerror(errno)); }

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

StatusOr<Addresses> Resolve(const std::string& host, const std::string& port, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(KnownHost(host).c_str(), port.c_str(), &hints, &list);
  if (error != 0) return errors::Unavailable("cannot resolve '", host, "': ", gai_strerror(error));
  return Addresses(list);
}

StatusOr<sockaddr_un> UnixAddress(const std::string& name, socklen_t* size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path))
    return errors::InvalidArgument("a socket name of ", name.size(), " bytes");
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading zero: abstract
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

// Waits until the socket is ready for `events`.
Status Await(int socket, short events, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return errors::DeadlineExceeded("no answer in time");
    pollfd wanted = {socket, events, 0};
    const int n = poll(&wanted, 1, static_cast<int>(std::min<int64_t>(left, 1'000'000)));
    if (n > 0) return OkStatus();
    if (n < 0 && errno != EINTR) return SystemError("poll");
  }
}

Status Connect(int socket, const sockaddr* address, socklen_t size, Deadline deadline) {
  while (connect(socket, address, size) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // a Unix listener whose queue is full: nothing to poll for
      if (std::chrono::steady_clock::now() >= deadline) return errors::DeadlineExceeded("no answer in time");
      poll(nullptr, 0, 1);
      continue;
    }
    if (errno != EINPROGRESS) return errors::Unavailable(std::strerror(errno));
    RETURN_IF_ERROR(Await(socket, POLLOUT, deadline));
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    return error == 0 ? OkStatus() : errors::Unavailable(std::strerror(error));
  }
  return OkStatus();
}

// Both ends of the connection have the same address, or one of the loopback's.
bool IsInsideHost(int socket) {
  sockaddr_storage here = {}, there = {};
  socklen_t here_size = sizeof(here), there_size = sizeof(there);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) != 0 || here.ss_family != there.ss_family) {
    return false;
  }
  if (here.ss_family == AF_INET) {
    const in_addr_t from = reinterpret_cast<const sockaddr_in&>(here).sin_addr.s_addr;
    const in_addr_t to = reinterpret_cast<const sockaddr_in&>(there).sin_addr.s_addr;
    return from == to || ntohl(to) >> 24 == IN_LOOPBACKNET;
  }
  return here.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(here).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(there).sin6_addr, sizeof(in6_addr)) == 0;
}

// Sends the descriptors with `message`. `control` has room for them.
void Attach(std::span<const int> descriptors, char* control, msghdr* message) {
  message->msg_control = control;
  message->msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

}  // namespace

StatusOr<UniqueFd> ListenTcp(const std::string& host, int* port) {
  ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, absl::StrCat(*port), AI_PASSIVE));
  UniqueFd listener(::socket(addresses->ai_family, kSocketFlags, 0));
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  const int on = 1;
  // A port that was asked for may still have old connections that end.
  if (listener && *port != 0) setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (!listener || bind(listener.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.get(), kBacklog) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return SystemError(absl::StrCat("cannot listen on ", JoinHostPort(host, *port)).c_str());
  }
  *port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  return listener;
}

StatusOr<UniqueFd> ListenUnix(std::string* name) {
  *name = absl::StrCat("millstream-", absl::BytesToHexString(RandomBytes(16)));
  socklen_t size;
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(*name, &size));
  UniqueFd listener(::socket(AF_UNIX, kSocketFlags, 0));
  if (!listener || bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return SystemError("cannot listen on a Unix socket");
  }
  return listener;
}

void SetTcpOptions(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Inside a host nothing is lost, and no two ends share a wire. A congestion control that paces what is sent, such as
  // BBR, would only set timers (ADR 43). Every Linux has Reno, and lets everybody use it.
  static constexpr char kUnpaced[] = "reno";
  if (IsInsideHost(socket)) setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kUnpaced, sizeof(kUnpaced) - 1);
}

StatusOr<UniqueFd> ConnectTcp(const std::string& address, Deadline deadline) {
  std::string host, port;
  RETURN_IF_ERROR(SplitHostPort(address, &host, &port));
  ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port, 0));
  Status status;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    UniqueFd socket(::socket(a->ai_family, kSocketFlags, 0));
    if (!socket) {
      status = SystemError("socket");
      continue;
    }
    status = Connect(socket.get(), a->ai_addr, a->ai_addrlen, deadline);
    if (status.ok()) {
      SetTcpOptions(socket.get());
      return socket;
    }
  }
  return status;
}

StatusOr<UniqueFd> ConnectUnix(const std::string& name, Deadline deadline) {
  socklen_t size;
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(name, &size));
  UniqueFd socket(::socket(AF_UNIX, kSocketFlags, 0));
  if (!socket) return SystemError("socket");
  RETURN_IF_ERROR(Connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size, deadline));
  return socket;
}

std::string JoinHostPort(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? absl::StrCat(host, ":", port) : absl::StrCat("[", host, "]:", port);
}

Status SplitHostPort(const std::string& address, std::string* host, std::string* port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size() || address.size() > 300) {
    return errors::InvalidArgument("'", address.substr(0, 300), "' is not host:port");
  }
  *host = address.substr(0, colon);
  *port = address.substr(colon + 1);
  if (host->size() > 2 && host->front() == '[' && host->back() == ']') *host = host->substr(1, host->size() - 2);
  return OkStatus();
}

Status SendAll(int socket, absl::string_view bytes, int descriptor, Deadline deadline) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  while (!bytes.empty()) {
    iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      Attach({&descriptor, 1}, control, &message);
    }
    const ssize_t n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      descriptor = -1;
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(Await(socket, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return errors::Unavailable(std::strerror(errno));
    }
  }
  return OkStatus();
}

Status SendDescriptors(int socket, const std::array<int, 2>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(descriptors))] = {};
  char byte = 'd';
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Attach(descriptors, control, &message);
  if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return OkStatus();
  return errors::Unavailable(std::strerror(errno));
}

StatusOr<std::string> ReceiveExactly(int socket, size_t size, Deadline deadline) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    RETURN_IF_ERROR(Await(socket, POLLIN, deadline));
    const ssize_t n = recv(socket, bytes.data() + have, size - have, MSG_DONTWAIT);
    if (n == 0) return errors::Unavailable("it closed the connection");
    if (n < 0 && errno != EAGAIN && errno != EINTR) return errors::Unavailable(std::strerror(errno));
    if (n > 0) have += static_cast<size_t>(n);
  }
  return bytes;
}

Status ReceiveSome(int socket, size_t size, std::string* bytes, std::vector<UniqueFd>* descriptors) {
  const size_t have = bytes->size();
  bytes->resize(have + size);
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  iovec part = {bytes->data() + have, size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  bytes->resize(have + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) return errno == EAGAIN || errno == EINTR ? OkStatus() : errors::Unavailable(std::strerror(errno));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= header->cmsg_len; ++i) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      descriptors->emplace_back(descriptor);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0 || descriptors->size() > kMaxDescriptors) {
    return errors::InvalidArgument("too many descriptors");
  }
  return n == 0 ? errors::Unavailable("it closed the connection") : OkStatus();
}

std::string HostId() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network;
  if (boot.empty() || stat("/proc/self/ns/net", &network) != 0) return absl::BytesToHexString(RandomBytes(16));
  return absl::StrCat(boot, "/", network.st_ino);
}

}  // namespace millstream
