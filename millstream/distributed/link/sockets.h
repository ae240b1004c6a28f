// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_SOCKETS_H_
#define MILLSTREAM_DISTRIBUTED_LINK_SOCKETS_H_

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

using Deadline = std::chrono::steady_clock::time_point;

// All sockets are non-blocking and close on exec.

// `host` is a name or a number; *port is the port, or 0 for one that the system chooses and that is stored there.
StatusOr<UniqueFd> ListenTcp(const std::string& host, int* port);
// In the abstract namespace, under a random name.
StatusOr<UniqueFd> ListenUnix(std::string* name);
// Waits for the connection: Unavailable, or DeadlineExceeded.
StatusOr<UniqueFd> ConnectTcp(const std::string& address, Deadline deadline);
StatusOr<UniqueFd> ConnectUnix(const std::string& name, Deadline deadline);
// Of a connected socket: nothing waits for more to send, and nothing is paced inside a host.
void SetTcpOptions(int socket);

// "host:port", with brackets around hosts that have colons.
std::string JoinHostPort(const std::string& host, int port);
// InvalidArgument unless `address` is of that form.
Status SplitHostPort(const std::string& address, std::string* host, std::string* port);

// Sends all of `bytes`, with the descriptor if it is not -1; receives exactly `size` bytes. Both wait.
Status SendAll(int socket, absl::string_view bytes, int descriptor, Deadline deadline);
// Sends two descriptors with one byte, without waiting.
Status SendDescriptors(int socket, const std::array<int, 2>& descriptors);
StatusOr<std::string> ReceiveExactly(int socket, size_t size, Deadline deadline);

// Appends at most `size` bytes that are there, and the descriptors that come with them, without waiting. Unavailable:
// the other end is gone. InvalidArgument: more descriptors than anybody needs.
Status ReceiveSome(int socket, size_t size, std::string* bytes, std::vector<UniqueFd>* descriptors);

// Equal for processes that see the same abstract sockets and run under the same kernel; never equal if that is unknown.
std::string HostId();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_SOCKETS_H_
