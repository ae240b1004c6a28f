// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_LINK_SET_H_
#define MILLSTREAM_DISTRIBUTED_LINK_LINK_SET_H_

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/framework/peer_link.h"

namespace millstream {

// The open links of a hub. Thread-safe.
class LinkSet {
 public:
  void Add(const std::shared_ptr<PeerLink>& link) {
    MutexLock lock(mu_);
    links_[link.get()] = link;
  }
  void Remove(PeerLink* link) {
    MutexLock lock(mu_);
    links_.erase(link);
    cv_.NotifyAll();
  }
  std::vector<std::shared_ptr<PeerLink>> All() {
    MutexLock lock(mu_);
    std::vector<std::shared_ptr<PeerLink>> all;
    for (const auto& [raw, weak] : links_) {
      if (std::shared_ptr<PeerLink> link = weak.lock()) all.push_back(std::move(link));
    }
    return all;
  }
  // False if the deadline passed with links left.
  bool WaitUntilEmpty(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mu_);
    while (!links_.empty()) {
      if (!cv_.WaitUntil(mu_, deadline)) return links_.empty();
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar cv_;
  std::unordered_map<PeerLink*, std::weak_ptr<PeerLink>> links_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_LINK_SET_H_
