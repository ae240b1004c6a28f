// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_SIMULATION_CALIBRATION_H_
#define MILLSTREAM_COLLECTIVE_SIMULATION_CALIBRATION_H_

#include <vector>

#include "millstream/collective/simulation/network.h"
#include "millstream/collective/simulation/schedule.h"

namespace millstream::collective {

// An all-reduce between real processes, each as if on a host of its own.
struct MeasuredAllReduce {
  int ranks = 2;
  uint64_t bytes = 0;
  double seconds = 0;
};

// Seconds of the same all-reduce in the simulation.
StatusOr<double> SimulatedSeconds(const NetworkOptions& options, const MeasuredAllReduce& like);

// Options with the costs of a message and of a byte that come closest to what was measured: the mean square of the
// logarithm of the ratio is smallest. Latency is counted with the cost of a message, which small arrays cannot tell
// apart. InvalidArgument without measurements.
StatusOr<NetworkOptions> Calibrate(const NetworkOptions& start, const std::vector<MeasuredAllReduce>& measured);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_SIMULATION_CALIBRATION_H_
