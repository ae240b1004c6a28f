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

// A test by doing it: the port must be free on every address.
bool IsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return free;
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

StatusOr<std::vector<int>> FindFreePorts(int count) {
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
  std::vector<int> ports;
  for (int port : candidates) {
    if (static_cast<int>(ports.size()) == count) break;
    if (IsFree(port)) ports.push_back(port);
  }
  if (static_cast<int>(ports.size()) < count)
    return errors::ResourceExhausted("this host has no ", count, " free ports");
  return ports;
}

}  // namespace millstream::launch
