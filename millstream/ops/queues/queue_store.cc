// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/queue_store.h"

#include <random>

namespace millstream {
namespace {

math::Philox Seeded(int64_t seed, int64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    return math::Philox((uint64_t{device()} << 32) | device(), (uint64_t{device()} << 32) | device());
  }
  return math::Philox(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
}

int64_t Priority(const QueueElement& element) { return element[0].scalar<int64_t>(); }

}  // namespace

QueueElement FifoStore::Take() {
  QueueElement element = std::move(elements_.front());
  elements_.pop_front();
  return element;
}

void FifoStore::PutBack(std::vector<QueueElement> elements) {
  for (auto it = elements.rbegin(); it != elements.rend(); ++it) elements_.push_front(std::move(*it));
}

ShuffleStore::ShuffleStore(int64_t seed, int64_t seed2) : random_(Seeded(seed, seed2)) {}

QueueElement ShuffleStore::Take() {
  const size_t chosen = random_.Next() % elements_.size();
  std::swap(elements_[chosen], elements_.back());
  QueueElement element = std::move(elements_.back());
  elements_.pop_back();
  return element;
}

void ShuffleStore::PutBack(std::vector<QueueElement> elements) {
  for (QueueElement& element : elements) elements_.push_back(std::move(element));
}

void PriorityStore::Add(QueueElement element) {
  elements_[Priority(element)].push_back(std::move(element));
  ++size_;
}

QueueElement PriorityStore::Take() {
  auto first = elements_.begin();
  QueueElement element = std::move(first->second.front());
  first->second.pop_front();
  if (first->second.empty()) elements_.erase(first);
  --size_;
  return element;
}

void PriorityStore::PutBack(std::vector<QueueElement> elements) {
  for (auto it = elements.rbegin(); it != elements.rend(); ++it) {
    elements_[Priority(*it)].push_front(std::move(*it));
    ++size_;
  }
}

}  // namespace millstream
