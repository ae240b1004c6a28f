// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TRUST_PEER_USER_H_
#define MILLSTREAM_DISTRIBUTED_TRUST_PEER_USER_H_

#include <sys/types.h>

#include <optional>
#include <string>

namespace millstream {

// The user who holds the other end of a connection within this host: of a Unix socket, or of TCP between two addresses
// of the host (loopback above all). Nothing for callers from elsewhere, and where it cannot be told: then nobody is to
// be trusted. The answer is the user of the process that opened the other end. Ask once, when a connection is accepted:
// after the peer has closed its end nothing can be told, since the kernel shows such sockets as root's.
std::optional<uid_t> PeerUser(int socket);

// The same from the two sources that there are: the kernel's socket diagnostics, and the tables in `proc_net` where
// these are not allowed ("/proc/net"). For tests; PeerUser() asks one after the other.
std::optional<uid_t> PeerUserFromDiagnostics(int socket);
std::optional<uid_t> PeerUserFromTables(int socket, const std::string& proc_net);

// True if the other end is a loopback address or a Unix socket.
bool PeerIsLoopback(int socket);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TRUST_PEER_USER_H_
