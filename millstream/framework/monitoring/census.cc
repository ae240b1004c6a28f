// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/monitoring/census.h"

namespace millstream {
namespace {

constexpr char kContainer[] = "_census";

template <typename T>
std::vector<std::shared_ptr<const T>> Living(std::vector<std::weak_ptr<T>>* all) {
  std::vector<std::shared_ptr<const T>> found;
  std::erase_if(*all, [](const auto& weak) { return weak.expired(); });
  for (const std::weak_ptr<T>& weak : *all) {
    if (std::shared_ptr<const T> entry = weak.lock()) found.push_back(std::move(entry));
  }
  return found;
}

// Owners come and go without anybody asking: forgets the dead when the list would grow.
template <typename T>
void Append(const std::shared_ptr<T>& entry, std::vector<std::weak_ptr<T>>* all) {
  if (all->size() == all->capacity()) std::erase_if(*all, [](const auto& weak) { return weak.expired(); });
  all->push_back(entry);
}

}  // namespace

Ref<Census> Census::Of(const ResourceManager* resources) {
  if (resources == nullptr) return {};
  StatusOr<Ref<Census>> found = resources->Lookup<Census>(kContainer, kContainer);
  return found.ok() ? *std::move(found) : Ref<Census>();
}

void Census::AttachTo(ResourceManager* resources) {
  resources->Create(kContainer, kContainer, Ref<Census>::Share(this)).IgnoreError();
}

void Census::Add(const std::shared_ptr<ObservedQueue>& queue) {
  MutexLock lock(mu_);
  Append(queue, &queues_);
}

void Census::Add(const std::shared_ptr<ObservedAccumulator>& accumulator) {
  MutexLock lock(mu_);
  Append(accumulator, &accumulators_);
}

void Census::Add(const std::shared_ptr<ObservedClock>& clock) {
  MutexLock lock(mu_);
  Append(clock, &clocks_);
}

void Census::Report(absl::string_view tag, double value) {
  MutexLock lock(mu_);
  auto found = scalars_.find(tag);
  if (found == scalars_.end()) {
    if (scalars_.size() >= kMaxScalars) return;
    found = scalars_.try_emplace(std::string(tag), ObservedScalar{std::string(tag), 0, 0}).first;
  }
  found->second.value = value;
  ++found->second.count;
}

std::vector<std::shared_ptr<const ObservedQueue>> Census::Queues() {
  MutexLock lock(mu_);
  return Living(&queues_);
}

std::vector<std::shared_ptr<const ObservedAccumulator>> Census::Accumulators() {
  MutexLock lock(mu_);
  return Living(&accumulators_);
}

std::vector<std::shared_ptr<const ObservedClock>> Census::Clocks() {
  MutexLock lock(mu_);
  return Living(&clocks_);
}

std::vector<ObservedScalar> Census::Scalars() const {
  std::vector<ObservedScalar> found;
  MutexLock lock(mu_);
  for (const auto& [tag, scalar] : scalars_) found.push_back(scalar);
  return found;
}

}  // namespace millstream
