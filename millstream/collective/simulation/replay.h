// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_SIMULATION_REPLAY_H_
#define MILLSTREAM_COLLECTIVE_SIMULATION_REPLAY_H_

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "millstream/collective/simulation/network.h"
#include "millstream/collective/simulation/schedule.h"

namespace millstream::collective {

// A recorded collective in a simulated network, any number of times: rank i is process `processes[i]`, and enters when
// Enter() is called for it. Borrows the network and the schedules.
class Replay {
 public:
  Replay(SimulatedNetwork* network, const std::vector<Schedule>* schedules, std::vector<int> processes);

  // Rank `rank` enters its next operation now. `done` runs when it has its result. REQUIRES: it has left the last one.
  void Enter(int rank, std::function<void()> done);

 private:
  struct Rank {
    uint64_t operation = 0;
    size_t next = 0;       // step
    int unsent = 0;        // messages that have not left yet
    bool waiting = false;  // for a message, or for what it has sent
    std::function<void()> done;
  };
  using Key = std::tuple<uint64_t, int, uint64_t>;  // operation, sender, tag

  // Continues a rank until it must wait.
  void Continue(int rank);
  void Send(int rank, const ScheduleStep& step);
  // After some time of the rank's own.
  void ContinueAfter(int rank, double seconds);

  SimulatedNetwork& network_;
  const std::vector<Schedule>& schedules_;
  const std::vector<int> processes_;
  std::vector<Rank> ranks_;
  std::vector<std::map<Key, bool>> arrived_;  // by receiver
};

// Seconds that one operation takes if all ranks enter at once, until the last has its result.
double SecondsOf(const NetworkOptions& options, const std::vector<int>& hosts, const std::vector<Schedule>& schedules);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_SIMULATION_REPLAY_H_
