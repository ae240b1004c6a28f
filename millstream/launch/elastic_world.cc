// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/elastic_world.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace millstream::launch {
namespace {

nlohmann::ordered_json JsonOf(const std::optional<ElasticWorld::World>& world) {
  if (!world) return nullptr;
  return {{"version", world->version}, {"tasks", world->tasks}};
}

}  // namespace

void ElasticWorld::Announce(int task, int64_t version) {
  const auto found = started_.find(task);
  if (found != started_.end()) found->second = std::max(found->second, version);
}

void ElasticWorld::Finish(int task) {
  Leave(task);
  finished_ = true;
}

void ElasticWorld::Leave(int task) {
  started_.erase(task);
  member_since_.erase(task);
}

int64_t ElasticWorld::MemberSince(int task) const {
  const auto found = member_since_.find(task);
  return found == member_since_.end() ? std::numeric_limits<int64_t>::max() : found->second;
}

// Those that have announced themselves, by number: collective ops order their members so.
std::vector<int> ElasticWorld::Members() const {
  std::vector<int> members;
  for (const auto& [task, version] : started_) {
    if (version >= 0) members.push_back(task);
  }
  return members;
}

bool ElasticWorld::AllAreReady() const {
  return std::all_of(pending_->tasks.begin(), pending_->tasks.end(),
                     [&](int task) { return started_.at(task) == pending_->version; });
}

bool ElasticWorld::IsLeft() const {
  return !pending_ && formed_ && std::any_of(formed_->tasks.begin(), formed_->tasks.end(), [&](int task) {
    const auto found = started_.find(task);
    const bool is_new = !IsMember(task);  // started again at once
    return found != started_.end() && (found->second > formed_->version || (is_new && found->second >= 0));
  });
}

bool ElasticWorld::Advance() {
  const bool first = latest() == nullptr;
  const bool all_came = std::all_of(started_.begin(), started_.end(), [](const auto& one) { return one.second >= 0; });
  if (first && (!all_came || !has_enough())) return false;
  bool changed = false;
  std::vector<int> members = Members();
  if (first || members != latest()->tasks || IsLeft()) {
    pending_ = {++version_, std::move(members)};
    changed = true;
  }
  const bool enough = finished_ || (pending_ && static_cast<int>(pending_->tasks.size()) >= min_workers_);
  if (pending_ && enough && !pending_->tasks.empty() && AllAreReady()) {
    Form();
    changed = true;
  }
  return changed;
}

void ElasticWorld::Form() {
  formed_ = std::exchange(pending_, std::nullopt);
  std::map<int, int64_t> since;
  for (const int task : formed_->tasks) since[task] = std::min(MemberSince(task), formed_->version);
  member_since_ = std::move(since);
}

std::string ElasticWorld::ToJson() const {
  const nlohmann::ordered_json json = {{"formed", JsonOf(formed_)}, {"pending", JsonOf(pending_)}};
  return json.dump();
}

}  // namespace millstream::launch
