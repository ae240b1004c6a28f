// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_QUEUE_STORE_H_
#define MILLSTREAM_OPS_QUEUES_QUEUE_STORE_H_

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "millstream/math/random/philox.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

using QueueElement = std::vector<Tensor>;  // one tensor for each component

// What is in a queue, and in which order it leaves. Not thread-safe: the queue
// locks.
class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual int64_t size() const = 0;
  virtual void Add(QueueElement element) = 0;
  // REQUIRES: size() > 0.
  virtual QueueElement Take() = 0;
  // Undoes the Take()s of an operation that could not finish; `elements` are in
  // the order in which they were taken.
  virtual void PutBack(std::vector<QueueElement> elements) = 0;
  // True if the elements of a batch must leave together: taken one by one as
  // they come they would not be in order.
  virtual bool takes_together() const { return false; }
};

// First in, first out.
class FifoStore final : public QueueStore {
 public:
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Add(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement Take() override;
  void PutBack(std::vector<QueueElement> elements) override;

 private:
  std::deque<QueueElement> elements_;
};

// A random one, chosen as TensorFlow does for the same seeds. Two zeros:
// another order every time.
class ShuffleStore final : public QueueStore {
 public:
  ShuffleStore(int64_t seed, int64_t seed2);
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Add(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement Take() override;
  void PutBack(std::vector<QueueElement> elements) override;

 private:
  std::vector<QueueElement> elements_;
  math::PhiloxSampler random_;
};

// The smallest first component, an int64 scalar, first; equal ones in the order
// they came.
class PriorityStore final : public QueueStore {
 public:
  int64_t size() const override { return size_; }
  void Add(QueueElement element) override;
  QueueElement Take() override;
  void PutBack(std::vector<QueueElement> elements) override;
  bool takes_together() const override { return true; }

 private:
  std::map<int64_t, std::deque<QueueElement>> elements_;
  int64_t size_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_QUEUE_STORE_H_
