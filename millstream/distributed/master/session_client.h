// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_SESSION_CLIENT_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_SESSION_CLIENT_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// The client of a session, as far as its connections tell whether it lives. A client that idles has its connection; one
// that was killed has none. Thread-safe.
class SessionClient {
 public:
  using Clock = std::chrono::steady_clock;

  // A call of the client came.
  void Called(RpcCall& call) {
    const uint64_t number = call.connection_number();
    if (number == last_.load(std::memory_order_relaxed)) [[likely]]
      return;
    MutexLock lock(mu_);
    last_.store(number, std::memory_order_relaxed);
    connections_.emplace_back(number, call.connection());
    gone_since_.reset();
  }
  bool Uses(uint64_t connection_number) const {
    MutexLock lock(mu_);
    for (const auto& connection : connections_) {
      if (connection.first == connection_number) return true;
    }
    return false;
  }
  // When it was first seen to have lost its last connection; nothing while it has one, or if none was ever known.
  std::optional<Clock::time_point> GoneSince(Clock::time_point now) {
    MutexLock lock(mu_);
    if (gone_since_ || connections_.empty()) return gone_since_;
    std::erase_if(connections_, [](const auto& connection) { return connection.second.expired(); });
    if (connections_.empty()) gone_since_ = now;
    return gone_since_;
  }

 private:
  std::atomic<uint64_t> last_{0};
  mutable Mutex mu_;
  std::vector<std::pair<uint64_t, std::weak_ptr<const void>>> connections_ ABSL_GUARDED_BY(mu_);
  std::optional<Clock::time_point> gone_since_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_SESSION_CLIENT_H_
