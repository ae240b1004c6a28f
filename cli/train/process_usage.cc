// SPDX-License-Identifier: Apache-2.0
#include "cli/train/process_usage.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace millstream::cli {

std::optional<ProcessUsage> ReadProcessUsage(int64_t pid) {
  std::FILE* file = std::fopen(absl::StrCat("/proc/", pid, "/stat").c_str(), "r");
  if (file == nullptr) return std::nullopt;
  char line[1024];
  const bool read = std::fgets(line, sizeof(line), file) != nullptr;
  std::fclose(file);
  const char* after_name = read ? std::strrchr(line, ')') : nullptr;
  if (after_name == nullptr) return std::nullopt;
  int64_t user = 0, system = 0, pages = 0;
  if (std::sscanf(after_name,
                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %*d %*d %*d %*d %*d %*d %*u %*u %ld", &user,
                  &system, &pages) != 3 ||
      pages == 0) {
    return std::nullopt;
  }
  return ProcessUsage{static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6,
                      static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK))};
}

}  // namespace millstream::cli
