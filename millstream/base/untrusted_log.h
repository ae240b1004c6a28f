// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_UNTRUSTED_LOG_H_
#define MILLSTREAM_BASE_UNTRUSTED_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/logging.h"
#include "millstream/base/mutex.h"

namespace millstream {

inline constexpr size_t kMaxUntrustedText = 400;

// Text from a peer, fit for a line of a log or a terminal: control characters, backslashes and bytes beyond ASCII as
// "\n" or "\x1b", and no more than `max_bytes` of it; the rest is counted.
std::string EscapeUntrusted(absl::string_view text, size_t max_bytes = kMaxUntrustedText);

// A line about something that anybody may cause, at most 5 a minute for each `event` (a few words, the same each
// time); the first line of the next minute says how many were left out. The message is escaped. Any thread may call.
void LogUntrusted(LogLevel level, absl::string_view event, absl::string_view message);

// What LogUntrusted() does, with its own clock and outlet. Thread-safe.
class UntrustedLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLinesPerPeriod = 5;
  static constexpr std::chrono::seconds kPeriod{60};
  static constexpr size_t kMaxEvents = 64;  // more share one allowance

  explicit UntrustedLog(std::function<void(LogLevel, absl::string_view)> write) : write_(std::move(write)) {}
  void Write(LogLevel level, absl::string_view event, absl::string_view message, Clock::time_point now);

 private:
  struct Allowance {
    Clock::time_point period_began;
    int lines = 0;
    int64_t left_out = 0;
  };
  const std::function<void(LogLevel, absl::string_view)> write_;
  Mutex mu_;
  std::map<std::string, Allowance, std::less<>> allowances_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_UNTRUSTED_LOG_H_
