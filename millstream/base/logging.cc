// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/logging.h"

#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace millstream {
namespace {

int MinLevel() {
  static const int level = [] {
    const char* value = std::getenv("MILLSTREAM_MIN_LOG_LEVEL");
    return value == nullptr ? 0 : std::atoi(value);
  }();
  return level;
}

}  // namespace

void Log(LogLevel level, absl::string_view message) {
  if (static_cast<int>(level) < MinLevel()) return;
  timeval now;
  gettimeofday(&now, nullptr);
  std::tm local;
  localtime_r(&now.tv_sec, &local);
  char stamp[64];
  const size_t n = std::strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
  char head[96];
  std::snprintf(head, sizeof(head), "%.*s.%06ld %c ", static_cast<int>(n), stamp, static_cast<long>(now.tv_usec),
                "IWE"[static_cast<int>(level)]);
  std::string line = head;
  line.append(message.data(), message.size());
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio locks the stream
}

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace millstream
