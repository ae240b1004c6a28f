// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_PROCESS_USAGE_H_
#define MILLSTREAM_CLI_TRAIN_PROCESS_USAGE_H_

#include <cstdint>
#include <optional>

namespace millstream::cli {

struct ProcessUsage {
  double memory_mb = 0;  // resident
  double cpu_secs = 0;   // of all threads since its start
};

// None if the process is gone, or has ended and nobody has waited for it.
std::optional<ProcessUsage> ReadProcessUsage(int64_t pid);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_PROCESS_USAGE_H_
