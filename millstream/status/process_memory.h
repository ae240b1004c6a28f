// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_PROCESS_MEMORY_H_
#define MILLSTREAM_STATUS_PROCESS_MEMORY_H_

#include <cstdint>

namespace millstream {

// Bytes of this process that are in memory, now and at most so far; 0 where the system does not say.
struct ProcessMemory {
  int64_t resident = 0, peak = 0;
};
ProcessMemory ReadProcessMemory();

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_PROCESS_MEMORY_H_
