// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/simulation/replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace millstream::collective {

Replay::Replay(SimulatedNetwork* network, const std::vector<Schedule>* schedules, std::vector<int> processes)
    : network_(*network),
      schedules_(*schedules),
      processes_(std::move(processes)),
      ranks_(processes_.size()),
      arrived_(processes_.size()) {}

void Replay::Enter(int rank, std::function<void()> done) {
  Rank& r = ranks_[static_cast<size_t>(rank)];
  ++r.operation;
  r.next = 0;
  r.done = std::move(done);
  Continue(rank);
}

void Replay::ContinueAfter(int rank, double seconds) {
  network_.At(network_.now() + seconds, [this, rank] { Continue(rank); });
}

void Replay::Send(int rank, const ScheduleStep& step) {
  Rank& r = ranks_[static_cast<size_t>(rank)];
  ++r.unsent;
  const Key key = {r.operation, rank, step.tag};
  network_.Send(
      processes_[static_cast<size_t>(rank)], processes_[static_cast<size_t>(step.peer)],
      static_cast<double>(step.bytes),
      [this, rank] {
        Rank& sender = ranks_[static_cast<size_t>(rank)];
        if (--sender.unsent == 0 && sender.waiting) Continue(rank);
      },
      [this, to = step.peer, key] {
        arrived_[static_cast<size_t>(to)][key] = true;
        if (ranks_[static_cast<size_t>(to)].waiting) Continue(to);
      });
}

void Replay::Continue(int rank) {
  Rank& r = ranks_[static_cast<size_t>(rank)];
  const Schedule& schedule = schedules_[static_cast<size_t>(rank)];
  r.waiting = false;
  if (r.next == schedule.size()) return r.done();
  const ScheduleStep& step = schedule[r.next];
  const int process = processes_[static_cast<size_t>(rank)];
  if (step.kind == ScheduleStep::Kind::kAwaitSent) {
    r.waiting = r.unsent > 0;
    if (r.waiting) return;
    ++r.next;
    return Continue(rank);
  }
  if (step.kind == ScheduleStep::Kind::kSend) {
    ++r.next;
    Send(rank, step);
    return ContinueAfter(rank, network_.SendCost(process));
  }
  std::map<Key, bool>& arrived = arrived_[static_cast<size_t>(rank)];
  const auto message = arrived.find({r.operation, step.peer, step.tag});
  if (message == arrived.end()) {
    r.waiting = true;
    return;
  }
  arrived.erase(message);
  ++r.next;
  ContinueAfter(rank, network_.ReceiveCost(process, static_cast<double>(step.bytes)));
}

double SecondsOf(const NetworkOptions& options, const std::vector<int>& hosts, const std::vector<Schedule>& schedules) {
  SimulatedNetwork network(options, hosts);
  std::vector<int> processes(hosts.size());
  std::iota(processes.begin(), processes.end(), 0);
  Replay replay(&network, &schedules, processes);
  double last = 0;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    replay.Enter(static_cast<int>(rank), [&] { last = std::max(last, network.now()); });
  }
  network.Run();
  return last;
}

}  // namespace millstream::collective
