// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/rank_processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "millstream/distributed/collective/exchange_handler.h"
#include "millstream/distributed/link/link_hub.h"

namespace millstream {
namespace {

using Body = std::function<Status(collective::Group&)>;

// What ranks must know of each other's hubs, in plain bytes: all are the same program.
struct Address {
  char task[64], host[128], shm[108], tcp[64], ticket[16];
  int64_t process;
};

template <size_t N>
void Copy(const std::string& from, char (&to)[N]) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), std::min(from.size(), N));
}

Address AddressOf(const LinkEndpoint& endpoint) {
  Address address;
  Copy(endpoint.task, address.task);
  Copy(endpoint.host, address.host);
  Copy(endpoint.shm_address, address.shm);
  Copy(endpoint.tcp_address, address.tcp);
  Copy(endpoint.ticket, address.ticket);
  address.process = getpid();
  return address;
}

LinkEndpoint EndpointOf(const Address& address) {
  LinkEndpoint endpoint;
  endpoint.task = address.task;
  endpoint.incarnation = 1;
  endpoint.host = address.host;
  endpoint.process = address.process;
  endpoint.shm_address = address.shm;
  endpoint.tcp_address = address.tcp;
  endpoint.ticket = std::string(address.ticket, sizeof(address.ticket));
  return endpoint;
}

bool ReadAll(int fd, void* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = read(fd, static_cast<char*>(data) + done, bytes - done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool WriteAll(int fd, const void* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = write(fd, static_cast<const char*>(data) + done, bytes - done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

Status RunRank(const RankProcessOptions& options, const Body& body, int rank, int from_parent, int to_parent) {
  collective::FrameExchange exchange;
  ExchangeHandler handler(&exchange);
  LinkOptions links;
  links.shm = options.transport == "shm";
  links.tcp = options.transport == "tcp";
  ASSIGN_OR_RETURN(const std::unique_ptr<LinkHub> hub,
                   LinkHub::Start(absl::StrCat("/job:worker/replica:0/task:", rank), 1, links,
                                  [&](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &handler; }));
  const Address own = AddressOf(hub->endpoint());
  std::vector<Address> all(static_cast<size_t>(options.ranks));
  if (!WriteAll(to_parent, &own, sizeof(own)) || !ReadAll(from_parent, all.data(), all.size() * sizeof(Address))) {
    return errors::Unavailable("the ranks did not start");
  }
  std::vector<std::string> tasks;
  std::vector<collective::Member> members;
  for (const Address& address : all) {
    tasks.emplace_back(address.task);
    members.push_back({address.task, address.tcp, address.host});
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto connect = [&](const std::string& task) {
    const size_t peer = static_cast<size_t>(std::find(tasks.begin(), tasks.end(), task) - tasks.begin());
    return hub->Dial(EndpointOf(all[peer]), &handler, std::chrono::seconds(10));
  };
  ASSIGN_OR_RETURN(auto joined, exchange.Join(1, tasks, rank, {connect, deadline}));
  ASSIGN_OR_RETURN(const auto group, collective::Group::Make(members, rank, std::move(joined), options.group));
  return body(*group);
}

struct Rank {
  pid_t process = -1;
  int to = -1, from = -1;
};

Status StartRank(const RankProcessOptions& options, const Body& body, int number, std::vector<Rank>* ranks) {
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) return errors::Unavailable("pipe: ", std::strerror(errno));
  Rank rank = {fork(), down[1], up[0]};
  if (rank.process < 0) return errors::Unavailable("fork: ", std::strerror(errno));
  if (rank.process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Status status = RunRank(options, body, number, down[0], up[1]);
    if (!status.ok()) std::fprintf(stderr, "rank %d: %s\n", number, status.ToString().c_str());
    std::fflush(nullptr);
    _exit(status.ok() ? 0 : 1);
  }
  close(down[0]);
  close(up[1]);
  ranks->push_back(rank);
  return OkStatus();
}

// Hands the addresses of all ranks to each, and waits until they have finished.
Status Serve(const std::vector<Rank>& ranks) {
  std::vector<Address> all(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!ReadAll(ranks[i].from, &all[i], sizeof(Address))) return errors::Unavailable("rank ", i, " did not start");
  }
  for (const Rank& rank : ranks) {
    if (!WriteAll(rank.to, all.data(), all.size() * sizeof(Address))) return errors::Unavailable("a rank has stopped");
  }
  Status status;
  for (size_t i = 0; i < ranks.size(); ++i) {
    int code = 0;
    waitpid(ranks[i].process, &code, 0);
    if (code != 0) status.Update(errors::Unavailable("rank ", i, " failed"));
  }
  return status;
}

}  // namespace

Status RunRankProcesses(const RankProcessOptions& options, const Body& body) {
  std::vector<Rank> ranks;
  Status status;
  for (int i = 0; i < options.ranks && status.ok(); ++i) status = StartRank(options, body, i, &ranks);
  if (status.ok()) status = Serve(ranks);
  for (const Rank& rank : ranks) {
    close(rank.to);
    close(rank.from);
    if (!status.ok() && kill(rank.process, SIGKILL) == 0) waitpid(rank.process, nullptr, 0);
  }
  return status;
}

}  // namespace millstream
