// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/applied_updates.h"

#include <algorithm>
#include <utility>

namespace millstream {
namespace {

constexpr auto kForgetAfter = std::chrono::minutes(10);

// Never 0.
uint64_t IdOf(StepIdentity identity) {
  uint64_t mixed = identity.client + identity.number * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 29;
  return mixed * 0xBF58476D1CE4E5B9u | 1;
}

}  // namespace

StepUpdates::StepUpdates(std::shared_ptr<const TrackedUpdates> tracked, StepIdentity identity)
    : tracked_(std::move(tracked)), number_(identity.number), id_(IdOf(identity)), states_(tracked_->nodes.size()) {
  ForgetActs();
}

void StepUpdates::Reset(StepIdentity identity) {
  number_ = identity.number;
  id_ = IdOf(identity);
  for (auto& state : states_) state.store(kNotApplied, std::memory_order_relaxed);
  ForgetActs();
}

void StepUpdates::ForgetActs() {
  if (tracked_->acts && (acts_ == nullptr || !acts_->empty())) acts_ = std::make_shared<StepActs>();
}

void StepUpdates::TakeOver(const StepUpdates& other) {
  absl::flat_hash_map<absl::string_view, size_t> places;
  for (size_t i = 0; i < other.tracked().nodes.size(); ++i) places.emplace(other.tracked().nodes[i], i);
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto place = places.find(tracked_->nodes[i]);
    if (place != places.end()) states_[i].store(other.states_[place->second].load());
  }
  if (other.acts_ != nullptr) acts_ = other.acts_;
}

StepUpdates::Turn StepUpdates::Claim(size_t update) {
  std::atomic<uint64_t>& state = states_[update];
  uint64_t seen = state.load(std::memory_order_acquire);
  while (true) {
    if (seen == kBeingApplied) return Turn::kApplying;
    if (seen != kNotApplied) {
      const OverwriteMark& mark = *tracked_->marks[update];
      const bool overwritten = mark.at.load(std::memory_order_acquire) > seen - kFirstMoment &&
                               mark.by.load(std::memory_order_relaxed) != id_;
      if (!overwritten) return Turn::kPass;
    }
    if (state.compare_exchange_weak(seen, kBeingApplied, std::memory_order_acq_rel)) return Turn::kApply;
  }
}

void StepUpdates::Applied(size_t update, bool ok) {
  const uint64_t moment = kFirstMoment + tracked_->clock->now.load(std::memory_order_acquire);
  states_[update].store(ok ? moment : kNotApplied, std::memory_order_release);
}

StatusOr<std::shared_ptr<StepUpdates>> ClientSteps::Begin(const std::shared_ptr<const TrackedUpdates>& tracked,
                                                          StepIdentity identity) {
  MutexLock lock(mu_);
  LeaveStep(identity.number);
  const auto earlier = std::find_if(steps_.begin(), steps_.end(), [&](const std::shared_ptr<StepUpdates>& step) {
    return step != nullptr && step->number() == identity.number;
  });
  if (earlier == steps_.end()) {
    std::shared_ptr<StepUpdates>& oldest = steps_[next_];
    next_ = (next_ + 1) % steps_.size();
    if (oldest != nullptr && oldest.use_count() == 1 && &oldest->tracked() == tracked.get()) {
      oldest->Reset(identity);  // the usual case takes no memory
    } else {
      oldest = std::make_shared<StepUpdates>(tracked, identity);
    }
    return oldest;
  }
  const TrackedUpdates& known = (*earlier)->tracked();
  if (&known == tracked.get() || (known.nodes == tracked->nodes && known.acts >= tracked->acts)) return *earlier;
  // Hooks may have asked for something else. What was applied before stays known, behind the updates of this part.
  if (earlier->use_count() > 1)
    return errors::Unavailable("An earlier attempt of step ", identity.number, " of the client still runs");
  auto both = std::make_shared<TrackedUpdates>(*tracked);
  both->acts |= known.acts;
  for (size_t i = 0; i < known.nodes.size(); ++i) {
    if (std::find(tracked->nodes.begin(), tracked->nodes.end(), known.nodes[i]) != tracked->nodes.end()) continue;
    both->nodes.push_back(known.nodes[i]);
    both->marks.push_back(known.marks[i]);
  }
  auto updates = std::make_shared<StepUpdates>(std::move(both), identity);
  updates->TakeOver(**earlier);
  *earlier = updates;
  return updates;
}

// A client begins a step when the one before was answered.
void ClientSteps::LeaveStep(uint64_t number) {
  if (std::exchange(last_number_, number) == number) return;
  for (const std::shared_ptr<StepUpdates>& step : steps_) {
    if (step != nullptr && step.use_count() == 1) step->ForgetActs();
  }
}

std::shared_ptr<OverwriteMark> AppliedUpdates::MarkOf(const std::string& variable) {
  MutexLock lock(mu_);
  if (marks_.size() >= sweep_at_) {
    absl::erase_if(marks_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(1024, 2 * marks_.size());
  }
  std::weak_ptr<OverwriteMark>& known = marks_[variable];
  std::shared_ptr<OverwriteMark> mark = known.lock();
  if (mark == nullptr) known = mark = std::make_shared<OverwriteMark>();
  return mark;
}

std::shared_ptr<ClientSteps> AppliedUpdates::OfClient(uint64_t client, ClientSteps::Clock::time_point now) {
  MutexLock lock(mu_);
  auto it = clients_.find(client);
  if (it == clients_.end()) {
    Forget(now);
    it = clients_.emplace(client, std::make_shared<ClientSteps>(client)).first;
  }
  it->second->last_used.store(now, std::memory_order_relaxed);
  return it->second;
}

void AppliedUpdates::Forget(ClientSteps::Clock::time_point now) {
  auto oldest = clients_.end();
  for (auto it = clients_.begin(); it != clients_.end();) {
    auto next = std::next(it);
    const auto used = it->second->last_used.load(std::memory_order_relaxed);
    if (it->second.use_count() == 1) {  // no part has it
      if (used + kForgetAfter < now) {
        clients_.erase(it);
      } else if (oldest == clients_.end() || used < oldest->second->last_used.load(std::memory_order_relaxed)) {
        oldest = it;
      }
    }
    it = next;
  }
  if (clients_.size() >= max_clients_ && oldest != clients_.end()) clients_.erase(oldest);
}

void AppliedUpdates::ForgetAll() {
  decltype(clients_) forgotten;
  MutexLock lock(mu_);
  forgotten.swap(clients_);
}

size_t AppliedUpdates::num_clients() const {
  MutexLock lock(mu_);
  return clients_.size();
}

}  // namespace millstream
