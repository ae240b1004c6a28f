// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_RECENT_ERRORS_H_
#define MILLSTREAM_STATUS_RECENT_ERRORS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream {

// The last things that went wrong at a task. An error that comes again is counted, not listed twice. Thread-safe.
class RecentErrors {
 public:
  struct Entry {
    int64_t first_ms = 0, last_ms = 0;  // since the epoch
    std::string where;                  // "step", "link to /job:ps/replica:0/task:0"
    std::string code;                   // "Unavailable"
    std::string message;                // its first kMaxMessage bytes
    uint64_t count = 1;
  };
  static constexpr size_t kMaxEntries = 50, kMaxMessage = 1000;

  // Nothing happens if `status` is OK.
  void Add(const std::string& where, const Status& status);
  std::vector<Entry> List() const;  // the newest first
  uint64_t total() const;

 private:
  mutable Mutex mu_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);  // the newest last
  uint64_t total_ ABSL_GUARDED_BY(mu_) = 0;
};

// Milliseconds since the epoch.
int64_t NowMillis();

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_RECENT_ERRORS_H_
