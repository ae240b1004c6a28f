// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/process_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

ProcessMemory ReadProcessMemory() {
  ProcessMemory memory;
  const UniqueFd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = file ? ::read(file.get(), text, sizeof(text) - 1) : 0;
  text[size > 0 ? size : 0] = '\0';
  long long total = 0, resident = 0;
  if (std::sscanf(text, "%lld %lld", &total, &resident) == 2) memory.resident = resident * sysconf(_SC_PAGESIZE);
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0) memory.peak = int64_t{usage.ru_maxrss} * 1024;
  return memory;
}

}  // namespace millstream
