// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/simulation/calibration.h"

#include <cmath>
#include <numeric>

#include "millstream/collective/simulation/replay.h"

namespace millstream::collective {
namespace {

struct Recorded {
  std::vector<int> hosts;
  std::vector<Schedule> schedules;
  double seconds;
};

std::vector<int> HostEach(int ranks) {
  std::vector<int> hosts(static_cast<size_t>(ranks));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

double ErrorOf(const NetworkOptions& options, const std::vector<Recorded>& all) {
  double sum = 0;
  for (const Recorded& one : all) {
    const double ratio = std::log(SecondsOf(options, one.hosts, one.schedules) / one.seconds);
    sum += ratio * ratio;
  }
  return sum / static_cast<double>(all.size());
}

}  // namespace

StatusOr<double> SimulatedSeconds(const NetworkOptions& options, const MeasuredAllReduce& like) {
  const std::vector<int> hosts = HostEach(like.ranks);
  ASSIGN_OR_RETURN(const std::vector<Schedule> schedules, RecordAllReduce(hosts, Algorithm::kAuto, like.bytes));
  return SecondsOf(options, hosts, schedules);
}

StatusOr<NetworkOptions> Calibrate(const NetworkOptions& start, const std::vector<MeasuredAllReduce>& measured) {
  if (measured.empty()) return errors::InvalidArgument("A calibration needs measurements");
  std::vector<Recorded> all;
  for (const MeasuredAllReduce& one : measured) {
    if (!(one.seconds > 0)) return errors::InvalidArgument("An all-reduce takes longer than ", one.seconds, " s");
    Recorded recorded = {HostEach(one.ranks), {}, one.seconds};
    ASSIGN_OR_RETURN(recorded.schedules, RecordAllReduce(recorded.hosts, Algorithm::kAuto, one.bytes));
    all.push_back(std::move(recorded));
  }
  NetworkOptions best = start;
  double error = ErrorOf(best, all);
  // Both costs by steps that become smaller.
  for (double factor = 4; factor > 1.005;) {
    bool better = false;
    for (double* const number : {&best.message_s, &best.byte_s}) {
      for (const double by : {factor, 1 / factor}) {
        const double before = *number;
        *number *= by;
        const double now = ErrorOf(best, all);
        if (now < error) {
          error = now;
          better = true;
        } else {
          *number = before;
        }
      }
    }
    if (!better) factor = std::sqrt(factor);
  }
  return best;
}

}  // namespace millstream::collective
