// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_RANKS_H_
#define MILLSTREAM_LAUNCH_RANKS_H_

#include <optional>

#include "millstream/launch/job.h"

namespace millstream::launch {

// One of the processes that Slurm (srun) or Open MPI (mpirun) has started together.
struct Ranks {
  std::string system;  // "slurm", "openmpi"
  std::string job;     // tells this start from all others
  int rank = 0;
  int size = 1;
  std::string host;  // how others name this host
};

// What the environment says; nullopt if this process was started otherwise. InvalidArgument if it says nonsense.
StatusOr<std::optional<Ranks>> FindRanks();

struct RankOptions {
  std::string
      folder;  // that all hosts see, for a meeting; "": MILLSTREAM_RENDEZVOUS, else .millstream in the home folder
  std::chrono::milliseconds timeout{120000};
};

// Runs the tasks of the job that fall to this rank; every rank calls it with the same options. Task i, in the order of
// TasksOf(), runs at rank i modulo the number of ranks. ps tasks end when the tasks of all ranks have; a failure at one
// rank ends all, and that rank alone returns it.
StatusOr<GroupResult> RunInRanks(const JobOptions& options, const Ranks& ranks, const RankOptions& rank_options,
                                 GroupOptions group);

// Where the ranks of a program that srun or mpirun starts by itself, without `millstream launch`, listen: one task
// each.
struct RankAddresses {
  std::vector<std::string> hosts;      // by rank
  std::vector<std::string> addresses;  // "host:port" by rank; loopback if all ranks are on one host
  std::string token;                   // of the job, the same for all ranks
};

// Chooses a port for this rank and exchanges addresses with the others in the folder of `options`. Blocks until all
// ranks have called it; DeadlineExceeded names those that have not.
StatusOr<RankAddresses> MeetRanks(const Ranks& ranks, const RankOptions& options);

// Runs the one task that TF_CONFIG speaks of, as Kubeflow's operator sets it: the program gets its flags.
StatusOr<GroupResult> RunTfConfig(const JobOptions& options, GroupOptions group);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_RANKS_H_
