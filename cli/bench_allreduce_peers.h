// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_BENCH_ALLREDUCE_PEERS_H_
#define MILLSTREAM_CLI_BENCH_ALLREDUCE_PEERS_H_

#include <string>
#include <vector>

#include "cli/bench.h"
#include "millstream/base/status.h"

namespace millstream::cli {

// Measures options.backend, "mpi" or "gloo", which prints its results. FailedPrecondition if it is not installed.
Status BenchPeerAllReduce(const BenchOptions& options, const std::string& transport,
                          const std::vector<uint64_t>& sizes);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_BENCH_ALLREDUCE_PEERS_H_
