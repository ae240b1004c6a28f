// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_HUB_REGISTRY_H_
#define MILLSTREAM_DISTRIBUTED_LINK_HUB_REGISTRY_H_

#include <memory>
#include <unordered_map>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/hub_core.h"

namespace millstream {

// Hubs of one process that may link to each other directly: those that were given this registry. Thread-safe.
class HubRegistry {
 public:
  void Add(const std::shared_ptr<HubCore>& core) {
    MutexLock lock(mu_);
    hubs_[core->endpoint.hub] = core;
  }
  void Remove(const HubCore* core) {
    MutexLock lock(mu_);
    const auto it = hubs_.find(core->endpoint.hub);
    if (it != hubs_.end() && it->second.get() == core) hubs_.erase(it);
  }
  // Null if there is none.
  std::shared_ptr<HubCore> Find(uint64_t hub) {
    MutexLock lock(mu_);
    const auto it = hubs_.find(hub);
    return it == hubs_.end() ? nullptr : it->second;
  }

 private:
  Mutex mu_;
  std::unordered_map<uint64_t, std::shared_ptr<HubCore>> hubs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_HUB_REGISTRY_H_
