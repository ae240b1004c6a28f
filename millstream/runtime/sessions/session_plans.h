// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_SESSION_PLANS_H_
#define MILLSTREAM_RUNTIME_SESSIONS_SESSION_PLANS_H_

#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millstream/runtime/session.h"

namespace millstream {

// The plans that a session has made: by signature (names of feeds, fetches and targets), and those of callables. Plans
// are dropped outside the lock, since that may take long. Thread safe.
template <typename PlanPtr>
class SessionPlans {
 public:
  using CallableHandle = Session::CallableHandle;
  using Names = std::vector<std::string>;

  // The plan of a signature; `make(feed_names)` gives it when there is none yet. Two threads may make the same one, of
  // which one is kept.
  template <typename Make>
  StatusOr<PlanPtr> FindOrMake(const Session::Feeds& feeds, const Names& fetches, const Names& targets, Make make) {
    thread_local std::string key;
    MakeKey(feeds, fetches, targets, &key);
    {
      std::shared_lock lock(mu_);
      const auto it = by_signature_.find(key);
      if (it != by_signature_.end()) return it->second;
    }
    std::string kept = key;  // making a plan may use this thread for other sessions
    Names feed_names;
    for (const auto& feed : feeds) feed_names.push_back(feed.first);
    ASSIGN_OR_RETURN(PlanPtr plan, make(feed_names));
    std::unique_lock lock(mu_);
    return by_signature_.emplace(std::move(kept), std::move(plan)).first->second;
  }

  CallableHandle AddCallable(PlanPtr plan) {
    std::unique_lock lock(mu_);
    callables_.emplace(next_callable_, std::move(plan));
    return next_callable_++;
  }
  // InvalidArgument if there is none, here and below.
  StatusOr<PlanPtr> FindCallable(CallableHandle handle) const {
    std::shared_lock lock(mu_);
    const auto it = callables_.find(handle);
    if (it == callables_.end()) return NoSuchCallable(handle);
    return it->second;
  }
  Status ReleaseCallable(CallableHandle handle) {
    PlanPtr dropped;
    std::unique_lock lock(mu_);
    const auto it = callables_.find(handle);
    if (it == callables_.end()) return NoSuchCallable(handle);
    dropped = std::move(it->second);
    callables_.erase(it);
    return OkStatus();
  }

  void Clear() {
    std::unordered_map<std::string, PlanPtr> plans;
    std::unordered_map<CallableHandle, PlanPtr> callables;
    std::unique_lock lock(mu_);
    plans.swap(by_signature_);
    callables.swap(callables_);
  }

 private:
  // Names hold no control characters, so the key is unambiguous.
  static void MakeKey(const Session::Feeds& feeds, const Names& fetches, const Names& targets, std::string* key) {
    key->clear();
    for (const auto& feed : feeds) key->append(feed.first).push_back('\n');
    key->push_back('\1');
    for (const std::string& name : fetches) key->append(name).push_back('\n');
    key->push_back('\2');
    for (const std::string& name : targets) key->append(name).push_back('\n');
  }
  static Status NoSuchCallable(CallableHandle handle) {
    return errors::InvalidArgument("No such callable handle: ", handle);
  }

  mutable std::shared_mutex mu_;
  std::unordered_map<std::string, PlanPtr> by_signature_;
  std::unordered_map<CallableHandle, PlanPtr> callables_;
  CallableHandle next_callable_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_SESSION_PLANS_H_
