// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/tcp_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

using SocketName = int (*)(int, sockaddr*, socklen_t*);

std::optional<TcpEndpoint> Endpoint(int socket, SocketName name) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof(storage);
  if (name(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  TcpEndpoint endpoint;
  endpoint.family = storage.ss_family;
  if (storage.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(storage);
    endpoint.address.assign(reinterpret_cast<const char*>(&four.sin_addr), sizeof(four.sin_addr));
    endpoint.port = ntohs(four.sin_port);
    return endpoint;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(storage);
  endpoint.address.assign(reinterpret_cast<const char*>(&six.sin6_addr), sizeof(six.sin6_addr));
  endpoint.port = ntohs(six.sin6_port);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    endpoint.family = AF_INET;
    endpoint.address.erase(0, 12);
  }
  return endpoint;
}

// Equal for processes that share their loopback interface; "" if this cannot be told.
std::string LoopbackScope() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network;
  if (boot.empty() || stat("/proc/self/ns/net", &network) != 0) return "";
  return absl::StrCat(boot, "/", network.st_ino);
}

std::string ForHandshake(const std::optional<TcpEndpoint>& endpoint) {
  if (!endpoint.has_value()) return "";
  return endpoint->is_loopback() ? absl::StrCat(endpoint->ToString(), "@", LoopbackScope()) : endpoint->ToString();
}

}  // namespace

bool TcpEndpoint::is_loopback() const {
  if (family == AF_INET) return address.size() == 4 && address[0] == 127;
  return address.size() == 16 && address == std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
}

std::string TcpEndpoint::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, address.data(), text, sizeof(text));
  return family == AF_INET6 ? absl::StrCat("[", text, "]:", port) : absl::StrCat(text, ":", port);
}

std::optional<TcpEndpoint> LocalTcpEndpoint(int socket) { return Endpoint(socket, getsockname); }
std::optional<TcpEndpoint> RemoteTcpEndpoint(int socket) { return Endpoint(socket, getpeername); }

std::string LocalEndpoint(int socket) { return ForHandshake(LocalTcpEndpoint(socket)); }
std::string RemoteEndpoint(int socket) { return ForHandshake(RemoteTcpEndpoint(socket)); }

}  // namespace millstream
