// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_SIMULATION_SCHEDULE_H_
#define MILLSTREAM_COLLECTIVE_SIMULATION_SCHEDULE_H_

#include <functional>
#include <vector>

#include "millstream/collective/group.h"

namespace millstream::collective {

// What one rank does in a collective, in order. Data never decide what is sent, so the steps of a rank can be recorded
// without the other ranks.
struct ScheduleStep {
  enum class Kind : uint8_t { kSend, kAwait, kAwaitSent };
  Kind kind = Kind::kSend;
  int peer = 0;
  uint64_t tag = 0;
  uint64_t bytes = 0;
};
using Schedule = std::vector<ScheduleStep>;

// Calls `body` with the Group of one rank after the other and records its messages: the collectives themselves run,
// with arrays that nobody fills. `hosts`: the host of each rank, for algorithms that look at it; no memory is shared.
StatusOr<std::vector<Schedule>> RecordSchedules(const std::vector<int>& hosts, Algorithm algorithm,
                                                const std::function<Status(Group&)>& body);

// Of one all-reduce of so many bytes of float.
StatusOr<std::vector<Schedule>> RecordAllReduce(const std::vector<int>& hosts, Algorithm algorithm, uint64_t bytes);
StatusOr<std::vector<Schedule>> RecordBroadcast(const std::vector<int>& hosts, uint64_t bytes, int root);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_SIMULATION_SCHEDULE_H_
