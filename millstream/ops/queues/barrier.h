// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_BARRIER_H_
#define MILLSTREAM_OPS_QUEUES_BARRIER_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "millstream/ops/queues/queue.h"

namespace millstream {

// Collects the components of tuples under string keys; tuples that are whole can be taken, those whose first component
// came first before others. Thread-safe; nothing blocks, as in Queue.
class Barrier final : public Resource {
 public:
  using Done = Queue::Done;
  // Elements are {index of insertion, key, components...}.
  using TakeDone = Queue::TakeDone;

  Barrier(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes);

  std::string DebugString() const override { return "Barrier " + name_; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  const Queue& ready() const { return *ready_; }

  // Gives component `component` to each of `keys`. InvalidArgument if one has it already or the value does not fit;
  // Cancelled if the barrier is closed and a key is new.
  // REQUIRES: component is in range; values has the component's type and a row for each key.
  void Insert(const Tensor& keys, int component, const Tensor& values, const Queue::Waiter& waiter, Done done);
  // Takes `n` whole tuples, as they come. Of a closed barrier, OutOfRange if there cannot be as many; with
  // `small_batch` what there is.
  void Take(int64_t n, bool small_batch, const Queue::Waiter& waiter, TakeDone done);
  // No new keys come; with `cancel`, no components for known keys either. Cancelled if closed so before.
  void Close(bool cancel, const Queue::Waiter& waiter, Done done);

  int64_t ready_size() { return ready_->Size(); }
  int64_t incomplete_size();

 private:
  struct Partial {
    int64_t index = 0;
    QueueElement components;  // those that have not come are not initialized
  };

  Status InsertOne(const std::string& key, int component, Tensor value, bool* new_key, std::vector<QueueElement>* whole)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status InsertAll(const Tensor& keys, int component, const Tensor& values, std::vector<QueueElement>* whole,
                   bool* last);

  const std::string name_;
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const Ref<Queue> ready_;
  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_index_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<std::string, Partial> incomplete_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_BARRIER_H_
