// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/free_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>

namespace millstream::launch {
namespace {

// A socket that is bound to the port on every address; without one if the port is taken. Binding without SO_REUSEADDR
// fails where anybody is bound; with it set afterwards, a server that has it may bind, too.
UniqueFd TryReserve(int port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const int on = 1;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return UniqueFd();
  }
  return fd;
}

struct Range {
  int first, last;
};

Range OutgoingPorts() {
  Range range = {32768, 60999};
  if (std::FILE* file = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re"); file != nullptr) {
    int first = 0, last = 0;
    if (std::fscanf(file, "%d %d", &first, &last) == 2 && first > 0 && last >= first) range = {first, last};
    std::fclose(file);
  }
  return range;
}

}  // namespace

StatusOr<FreePorts> FreePorts::Reserve(int count) {
  const Range outgoing = OutgoingPorts();
  std::vector<int> candidates;
  for (int port = 10000; port <= 65535; ++port) {
    if (port < outgoing.first || port > outgoing.last) candidates.push_back(port);
  }
  if (candidates.size() < 4096) {  // the system takes nearly all for itself: then any
    candidates.clear();
    for (int port = 1024; port <= 65535; ++port) candidates.push_back(port);
  }
  std::shuffle(candidates.begin(), candidates.end(), std::mt19937(std::random_device()()));
  FreePorts free;
  for (int port : candidates) {
    if (static_cast<int>(free.ports_.size()) == count) break;
    UniqueFd reservation = TryReserve(port);
    if (!reservation) continue;
    free.ports_.push_back(port);
    free.reservations_.push_back(std::move(reservation));
  }
  if (static_cast<int>(free.ports_.size()) < count)
    return errors::ResourceExhausted("this host has no ", count, " free ports");
  return free;
}

}  // namespace millstream::launch
