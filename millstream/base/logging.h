// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_LOGGING_H_
#define MILLSTREAM_BASE_LOGGING_H_

#include "absl/strings/string_view.h"

namespace millstream {

enum class LogLevel { kInfo = 0, kWarning = 1, kError = 2 };

// One line to standard error: time, level letter, message. MILLSTREAM_MIN_LOG_LEVEL (0, 1, 2) hides lower levels.
// Any thread may call; lines are never interleaved.
void Log(LogLevel level, absl::string_view message);
inline void LogInfo(absl::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarning(absl::string_view message) { Log(LogLevel::kWarning, message); }
inline void LogError(absl::string_view message) { Log(LogLevel::kError, message); }

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace millstream

// For our own mistakes only: never reachable from user input or from the network.
#define MS_CHECK(condition)                                      \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::millstream::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#endif  // MILLSTREAM_BASE_LOGGING_H_
