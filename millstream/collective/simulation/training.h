// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_SIMULATION_TRAINING_H_
#define MILLSTREAM_COLLECTIVE_SIMULATION_TRAINING_H_

#include <string>

#include "millstream/collective/simulation/network.h"
#include "millstream/collective/simulation/schedule.h"

namespace millstream::collective {

enum class TrainingMode : uint8_t { kSyncPs, kAsyncPs, kSsp, kAllReduce, kHierarchical, kLocalSgd };
std::string TrainingModeName(TrainingMode mode);  // "sync-ps"

struct TrainingOptions {
  NetworkOptions network;
  TrainingMode mode = TrainingMode::kAllReduce;
  int workers = 2;
  int ps = 1;  // of the modes that have them, each on a host of its own
  int workers_per_host = 1;
  uint64_t model_bytes = 10'000'000;
  double compute_s = 0.05;                 // a step of one worker
  double jitter = 0.1;                     // steps take compute_s (1 + jitter x), x exponential with mean 1
  double straggler_share = 0;              // this part of the workers,
  double straggler_factor = 1;             // takes so many times as long
  double apply_byte_s = 0.1e-9;            // a ps adds a gradient, per byte
  Algorithm algorithm = Algorithm::kAuto;  // kAllReduce, kLocalSgd
  int staleness = 3;                       // kSsp: steps that the fastest may be ahead of the slowest
  int local_steps = 8;                     // kLocalSgd: between two averages
  int steps = 8;                           // that each worker makes
  uint64_t seed = 1;
};

struct TrainingResult {
  double step_s = 0;          // mean time of a worker's step
  double steps_per_s = 0;     // of all workers together
  double bytes_per_step = 0;  // sent over the network, by all processes, for each step of a worker
  uint64_t messages = 0;
};

// Trains in virtual time. The same options give the same result. InvalidArgument if they make no sense.
//
// A worker computes, then exchanges: nothing overlaps. All-reduces and broadcasts are recorded from the real Group
// (schedule.h). With ps tasks a worker sends its gradient, cut into as many parts as there are ps, and each ps answers
// with its part of the parameters: at once (async), when all workers have sent theirs (sync), or when no worker is more
// than `staleness` steps behind (ssp). Hierarchical: all-reduce inside a host, then its first worker exchanges with the
// ps asynchronously and broadcasts what it gets.
StatusOr<TrainingResult> SimulateTraining(const TrainingOptions& options);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_SIMULATION_TRAINING_H_
