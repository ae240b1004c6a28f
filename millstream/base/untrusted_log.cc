// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/untrusted_log.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace millstream {

std::string EscapeUntrusted(absl::string_view text, size_t max_bytes) {
  const absl::string_view kept = text.substr(0, max_bytes);
  std::string escaped;
  escaped.reserve(kept.size());
  for (const char c : kept) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    // Quotes stay as they are: most messages have them.
    escaped += plain ? std::string(1, c) : absl::CHexEscape(absl::string_view(&c, 1));
  }
  if (kept.size() < text.size()) absl::StrAppend(&escaped, "... (", text.size() - kept.size(), " bytes more)");
  return escaped;
}

void UntrustedLog::Write(LogLevel level, absl::string_view event, absl::string_view message, Clock::time_point now) {
  int64_t left_out = 0;
  {
    MutexLock lock(mu_);
    auto it = allowances_.find(event);
    if (it == allowances_.end()) {
      const absl::string_view key = allowances_.size() < kMaxEvents ? event : absl::string_view("other events");
      it = allowances_.try_emplace(std::string(key), Allowance{now, 0, 0}).first;
    }
    Allowance& allowance = it->second;
    if (now - allowance.period_began >= kPeriod) {
      left_out = allowance.left_out;
      allowance = {now, 0, 0};
    }
    if (allowance.lines >= kLinesPerPeriod) {
      ++allowance.left_out;
      return;
    }
    ++allowance.lines;
  }
  std::string line = EscapeUntrusted(message);
  if (left_out > 0) absl::StrAppend(&line, " (", left_out, " more lines of this kind were left out before)");
  write_(level, line);
}

void LogUntrusted(LogLevel level, absl::string_view event, absl::string_view message) {
  static UntrustedLog* const log = new UntrustedLog(Log);
  log->Write(level, event, message, UntrustedLog::Clock::now());
}

}  // namespace millstream
