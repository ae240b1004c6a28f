// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/census.h"

#include "absl/strings/match.h"

namespace millstream {
namespace {

bool IsOf(absl::string_view device, absl::string_view task) {
  return absl::StartsWith(device, task) && device.size() > task.size() && device[task.size()] == '/';
}

template <typename T>
std::vector<std::shared_ptr<const T>> Living(std::vector<std::weak_ptr<T>>* all, absl::string_view task) {
  std::vector<std::shared_ptr<const T>> found;
  std::erase_if(*all, [](const auto& weak) { return weak.expired(); });
  for (const std::weak_ptr<T>& weak : *all) {
    std::shared_ptr<const T> entry = weak.lock();
    if (entry != nullptr && IsOf(entry->device, task)) found.push_back(std::move(entry));
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

Census& Census::Global() {
  static auto* census = new Census;
  return *census;
}

void Census::Add(const std::shared_ptr<ObservedQueue>& queue) {
  MutexLock lock(mu_);
  Append(queue, &queues_);
}

void Census::Add(const std::shared_ptr<ObservedAccumulator>& accumulator) {
  MutexLock lock(mu_);
  Append(accumulator, &accumulators_);
}

void Census::Report(absl::string_view device, absl::string_view tag, double value) {
  MutexLock lock(mu_);
  auto of_device = scalars_.find(device);
  if (of_device == scalars_.end()) of_device = scalars_.try_emplace(std::string(device)).first;
  auto found = of_device->second.find(tag);
  if (found == of_device->second.end()) {
    if (of_device->second.size() >= kMaxScalars) return;
    found = of_device->second.try_emplace(std::string(tag), ObservedScalar{std::string(tag), 0, 0}).first;
  }
  found->second.value = value;
  ++found->second.count;
}

std::vector<std::shared_ptr<const ObservedQueue>> Census::Queues(absl::string_view task) {
  MutexLock lock(mu_);
  return Living(&queues_, task);
}

std::vector<std::shared_ptr<const ObservedAccumulator>> Census::Accumulators(absl::string_view task) {
  MutexLock lock(mu_);
  return Living(&accumulators_, task);
}

std::vector<ObservedScalar> Census::Scalars(absl::string_view task) const {
  std::vector<ObservedScalar> found;
  MutexLock lock(mu_);
  for (const auto& [device, tags] : scalars_) {
    if (!IsOf(device, task)) continue;
    for (const auto& [tag, scalar] : tags) found.push_back(scalar);
  }
  return found;
}

}  // namespace millstream
