// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "millstream/distributed/trust/tcp_endpoint.h"

namespace millstream {
namespace {

// Both ends of a connection within this host.
struct LocalConnection {
  TcpEndpoint here, peer;
};

// Nothing if the peer may be on another host. Only this host has sockets with its own addresses: the kernel drops
// packets from elsewhere that claim one.
std::optional<LocalConnection> ConnectionWithinHost(int socket) {
  const std::optional<TcpEndpoint> here = LocalTcpEndpoint(socket), peer = RemoteTcpEndpoint(socket);
  if (!here.has_value() || !peer.has_value() || here->family != peer->family) return std::nullopt;
  const bool loopback = here->is_loopback() && peer->is_loopback();
  if (!loopback && here->address != peer->address) return std::nullopt;
  return LocalConnection{*here, *peer};
}

// As long as our end is established the peer's is the socket that connected; afterwards another may have its port.
bool IsEstablished(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_ESTABLISHED;
}

struct DiagRequest {
  nlmsghdr header = {};
  inet_diag_req_v2 body = {};
};

DiagRequest MakeDiagRequest(const LocalConnection& connection) {
  DiagRequest request;
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(connection.peer.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0u;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = htons(connection.peer.port);
  id.idiag_dport = htons(connection.here.port);
  std::memcpy(id.idiag_src, connection.peer.address.data(), connection.peer.address.size());
  std::memcpy(id.idiag_dst, connection.here.address.data(), connection.here.address.size());
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// The uid in an answer. The kernel answers with a listener where no connection matches, and it may answer in the IPv6
// form, so the ports are compared: a listener has no remote one.
std::optional<uid_t> ReadDiagAnswer(const char* bytes, size_t size, const DiagRequest& request) {
  nlmsghdr header;
  inet_diag_msg answer;
  if (size < NLMSG_HDRLEN + sizeof(answer)) return std::nullopt;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len > size) return std::nullopt;
  std::memcpy(&answer, bytes + NLMSG_HDRLEN, sizeof(answer));
  if (answer.id.idiag_sport != request.body.id.idiag_sport || answer.id.idiag_dport != request.body.id.idiag_dport) {
    return std::nullopt;
  }
  if (answer.idiag_inode == 0) return std::nullopt;  // closed by its process
  return answer.idiag_uid;
}

// How /proc/net/tcp and tcp6 write an endpoint: 32-bit words in the byte order of this machine.
std::string InTable(const TcpEndpoint& endpoint, bool six) {
  std::string address = endpoint.address;
  if (six && endpoint.family == AF_INET) address = std::string("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) + address;
  std::string text;
  for (size_t i = 0; i < address.size(); i += 4) {
    uint32_t word;
    std::memcpy(&word, address.data() + i, sizeof(word));
    absl::StrAppendFormat(&text, "%08X", word);
  }
  return absl::StrFormat("%s:%04X", text, endpoint.port);
}

std::optional<uid_t> FindInTable(const std::string& path, const std::string& local, const std::string& remote) {
  std::ifstream table(path);
  std::string line;
  while (std::getline(table, line)) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 10 || words[1] != local || words[2] != remote) continue;
    uint32_t uid = 0;
    uint64_t inode = 0;
    if (!absl::SimpleAtoi(words[7], &uid) || !absl::SimpleAtoi(words[9], &inode) || inode == 0) continue;
    return uid;
  }
  return std::nullopt;
}

std::optional<uid_t> PeerOfUnixSocket(int socket) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  if (credentials.uid == static_cast<uid_t>(-1)) return std::nullopt;
  return credentials.uid;
}

bool IsUnixSocket(int socket) {
  int domain = 0;
  socklen_t size = sizeof(domain);
  return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace

std::optional<uid_t> PeerUserFromDiagnostics(int socket) {
  const std::optional<LocalConnection> connection = ConnectionWithinHost(socket);
  if (!connection.has_value()) return std::nullopt;
  const int diagnostics = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (diagnostics < 0) return std::nullopt;
  const absl::Cleanup close = [diagnostics] { ::close(diagnostics); };
  const timeval patience = {1, 0};  // the kernel answers within send(); this is for kernels that do not
  setsockopt(diagnostics, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const DiagRequest request = MakeDiagRequest(*connection);
  if (send(diagnostics, &request, sizeof(request), 0) != static_cast<ssize_t>(sizeof(request))) return std::nullopt;
  char answer[2048];
  const ssize_t size = recv(diagnostics, answer, sizeof(answer), 0);
  if (size <= 0) return std::nullopt;
  const std::optional<uid_t> uid = ReadDiagAnswer(answer, static_cast<size_t>(size), request);
  return IsEstablished(socket) ? uid : std::nullopt;
}

std::optional<uid_t> PeerUserFromTables(int socket, const std::string& proc_net) {
  const std::optional<LocalConnection> connection = ConnectionWithinHost(socket);
  if (!connection.has_value()) return std::nullopt;
  std::optional<uid_t> uid;
  if (connection->here.family == AF_INET) {
    uid = FindInTable(proc_net + "/tcp", InTable(connection->peer, false), InTable(connection->here, false));
  }
  if (!uid.has_value()) {
    uid = FindInTable(proc_net + "/tcp6", InTable(connection->peer, true), InTable(connection->here, true));
  }
  return IsEstablished(socket) ? uid : std::nullopt;
}

std::optional<uid_t> PeerUser(int socket) {
  if (IsUnixSocket(socket)) return PeerOfUnixSocket(socket);
  const std::optional<uid_t> uid = PeerUserFromDiagnostics(socket);
  return uid.has_value() ? uid : PeerUserFromTables(socket, "/proc/net");
}

bool PeerIsLoopback(int socket) {
  if (IsUnixSocket(socket)) return true;
  const std::optional<TcpEndpoint> peer = RemoteTcpEndpoint(socket);
  return peer.has_value() && peer->is_loopback();
}

}  // namespace millstream
