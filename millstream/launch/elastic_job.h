// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_ELASTIC_JOB_H_
#define MILLSTREAM_LAUNCH_ELASTIC_JOB_H_

#include <chrono>
#include <string>

#include "millstream/launch/job.h"

namespace millstream::launch {

// A job of workers that may come and go (JobOptions::workers: how many there may be at most).
struct ElasticOptions {
  int min_workers = 1;
  std::string discovery;  // a command that prints how many may run now, "localhost:4"; "": as many as there may be
  // How long the job waits for enough workers.
  std::chrono::milliseconds timeout{600'000};
};

// Runs it on this machine. A worker that fails is dropped: it is started again up to max_restarts times, then its slot
// stays empty. The others find out, by the file `world` in the folder that MILLSTREAM_ELASTIC names, with whom to go
// on; workers answer by files `ready-INDEX`, with the version of the world that they are ready for. The job ends well
// when workers have ended well and none runs.
StatusOr<GroupResult> RunElastically(const JobOptions& options, const ElasticOptions& elastic, GroupOptions group);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_ELASTIC_JOB_H_
