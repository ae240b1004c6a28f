// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TRUST_TCP_ENDPOINT_H_
#define MILLSTREAM_DISTRIBUTED_TRUST_TCP_ENDPOINT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace millstream {

// An address and port. IPv4 addresses in IPv6 form ("::ffff:127.0.0.1") are IPv4 addresses here.
struct TcpEndpoint {
  int family = 0;       // AF_INET or AF_INET6
  std::string address;  // 4 or 16 bytes, in network order
  uint16_t port = 0;

  bool is_loopback() const;
  std::string ToString() const;  // "127.0.0.1:2222", "[::1]:2222"
};

// The two ends of a connected TCP socket; nothing for other sockets.
std::optional<TcpEndpoint> LocalTcpEndpoint(int socket);
std::optional<TcpEndpoint> RemoteTcpEndpoint(int socket);

// An endpoint for a handshake (ProofTarget::endpoint): "10.0.0.2:2222", or "127.0.0.1:2222@<boot and network
// namespace>" for loopback addresses, which stand for another host on each host. The client sends that of its socket's
// remote end, the server compares it with that of its local end; they are equal for one connection unless addresses are
// translated on the way. "" for other sockets.
std::string LocalEndpoint(int socket);
std::string RemoteEndpoint(int socket);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TRUST_TCP_ENDPOINT_H_
