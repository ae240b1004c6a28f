// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_RANK_PROCESSES_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_RANK_PROCESSES_H_

#include <functional>
#include <string>

#include "millstream/collective/group.h"

namespace millstream {

struct RankProcessOptions {
  int ranks = 2;
  std::string transport = "shm";  // of the links between them: "shm" or "tcp"
  collective::GroupOptions group;
};

// Forks processes that form a group over links, runs `body` in each of them, and waits until all have ended.
// Unavailable if one fails; what went wrong there is on its stderr. For benchmarks and tests: call it while this
// process has no other threads.
Status RunRankProcesses(const RankProcessOptions& options, const std::function<Status(collective::Group&)>& body);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_RANK_PROCESSES_H_
