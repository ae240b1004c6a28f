// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/recent_errors.h"

#include <algorithm>
#include <chrono>

namespace millstream {

int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void RecentErrors::Add(const std::string& where, const Status& status) {
  if (status.ok()) return;
  Entry entry;
  entry.first_ms = entry.last_ms = NowMillis();
  entry.where = where;
  entry.code = absl::StatusCodeToString(status.code());
  entry.message = std::string(status.message().substr(0, kMaxMessage));
  MutexLock lock(mu_);
  ++total_;
  const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.where == entry.where && e.code == entry.code && e.message == entry.message;
  });
  if (same != entries_.end()) {
    entry.first_ms = same->first_ms;
    entry.count = same->count + 1;
    entries_.erase(same);
  }
  entries_.push_back(std::move(entry));
  if (entries_.size() > kMaxEntries) entries_.pop_front();
}

std::vector<RecentErrors::Entry> RecentErrors::List() const {
  MutexLock lock(mu_);
  return {entries_.rbegin(), entries_.rend()};
}

uint64_t RecentErrors::total() const {
  MutexLock lock(mu_);
  return total_;
}

}  // namespace millstream
