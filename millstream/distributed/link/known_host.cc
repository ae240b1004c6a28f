// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/known_host.h"

#include <netdb.h>
#include <sys/socket.h>

namespace millstream {

std::string KnownHost(const std::string& host) {
  if (host != "localhost") return host;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return "127.0.0.1";
  freeaddrinfo(found);
  return host;
}

}  // namespace millstream
