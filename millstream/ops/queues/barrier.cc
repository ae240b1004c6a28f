// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/barrier.h"

#include <algorithm>
#include <limits>

#include "millstream/base/memory_budget.h"

namespace millstream {
namespace {

Ref<Queue> MakeReadyQueue(const std::string& name, const std::vector<DType>& types,
                          const std::vector<PartialShape>& shapes) {
  Queue::Options options;
  options.kind = "Barrier";
  options.name = name;
  options.types = {DType::kInt64, DType::kString};
  options.types.insert(options.types.end(), types.begin(), types.end());
  options.shapes = {PartialShape(Shape()), PartialShape(Shape())};
  options.shapes.insert(options.shapes.end(), shapes.begin(), shapes.end());
  return MakeRef<Queue>(std::move(options), std::make_unique<PriorityStore>());
}

}  // namespace

Barrier::Barrier(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes)
    : name_(std::move(name)),
      types_(std::move(types)),
      shapes_(std::move(shapes)),
      ready_(MakeReadyQueue(name_, types_, shapes_)),
      next_index_(std::numeric_limits<int64_t>::min()) {}

Status Barrier::InsertOne(const std::string& key, int component, Tensor value, bool* new_key,
                          std::vector<QueueElement>* whole) {
  if (closed_ && !incomplete_.contains(key)) {
    return errors::Cancelled("Barrier ", name_, " is closed, but attempted to insert a brand new key: ", key,
                             ".  Pending enqueues cancelled: ", cancelled_,
                             ".  Number of incomplete keys: ", incomplete_.size(), ".");
  }
  const auto [it, inserted] = incomplete_.try_emplace(key);
  Partial& partial = it->second;
  if (inserted) {
    *new_key = true;
    partial.index = next_index_;
    partial.components.resize(types_.size());
  }
  if (partial.components[component].IsInitialized()) {
    return errors::InvalidArgument("Key ", key, " already has a value for component ", component, " in barrier ",
                                   name_);
  }
  partial.components[component] = std::move(value);
  for (const Tensor& c : partial.components)
    if (!c.IsInitialized()) return OkStatus();
  QueueElement element = {Tensor::Scalar(partial.index), Tensor::Scalar(key)};
  std::move(partial.components.begin(), partial.components.end(), std::back_inserter(element));
  incomplete_.erase(it);
  RETURN_IF_ERROR(ready_->CheckElement(element, false));
  whole->push_back(std::move(element));
  return OkStatus();
}

Status Barrier::InsertAll(const Tensor& keys, int component, const Tensor& values, std::vector<QueueElement>* whole,
                          bool* last) {
  Shape shape = values.shape();
  if (shape.rank() > 0) shape.RemoveDim(0);
  MutexLock lock(mu_);
  if (closed_ && (cancelled_ || (keys.num_elements() > 0 && incomplete_.empty()))) {
    return errors::Cancelled("Barrier ", name_, " is closed.  Pending enqueues cancelled: ", cancelled_,
                             ".  Number of new insertions: ", keys.num_elements(),
                             ".  Number of incomplete keys: ", incomplete_.size(), ".");
  }
  bool new_key = false;
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    ASSIGN_OR_RETURN(Tensor value, values.SliceRows(i, i + 1).Reshaped(shape).Clone());
    RETURN_IF_ERROR(InsertOne(keys.data<std::string>()[i], component, std::move(value), &new_key, whole));
  }
  if (new_key) ++next_index_;
  *last = closed_ && incomplete_.empty();
  return OkStatus();
}

void Barrier::Insert(const Tensor& keys, int component, const Tensor& values, const Queue::Waiter& waiter, Done done) {
  if (keys.num_elements() > 0 && values.num_elements() == 0) {
    return done(errors::InvalidArgument("Tensors with no elements are not supported ", name_, ": received shape ",
                                        values.shape().ToString()));
  }
  if (MemoryIsExhausted()) return done(MemoryExhausted());
  std::vector<QueueElement> whole;
  bool last = false;
  const Status status = InsertAll(keys, component, values, &whole, &last);
  if (!status.ok() || whole.empty()) return done(status);
  ready_->Enqueue(std::move(whole), waiter,
                  [ready = ready_, waiter, last, done = std::move(done)](const Status& added) {
                    if (!added.ok() || !last) return done(added);
                    ready->Close(false, waiter, [done](const Status&) { done(OkStatus()); });
                  });
}

void Barrier::Take(int64_t n, bool small_batch, const Queue::Waiter& waiter, TakeDone done) {
  Status refused;
  {
    MutexLock lock(mu_);
    if (closed_) {
      int64_t available = ready_->Size();
      if (small_batch) {
        n = std::min(n, available);
      } else {
        available += static_cast<int64_t>(incomplete_.size());
      }
      if (available < std::max<int64_t>(n, 1)) {
        refused = errors::OutOfRange("Barrier '", name_, "' is closed and has insufficient elements (requested ", n,
                                     ", total size ", available, ")");
      }
    }
  }
  if (!refused.ok()) return done(refused);
  if (n == 0) return done(std::vector<QueueElement>());
  ready_->Dequeue(n, small_batch, waiter, std::move(done));
}

void Barrier::Close(bool cancel, const Queue::Waiter& waiter, Done done) {
  bool again = false, nothing_comes = false;
  {
    MutexLock lock(mu_);
    // A plain close may be followed by one that cancels.
    again = closed_ && (cancelled_ || !cancel);
    if (!again) {
      closed_ = true;
      cancelled_ = cancel;
      if (cancel) incomplete_.clear();
      nothing_comes = incomplete_.empty();
    }
  }
  if (again) return done(errors::Cancelled("Barrier '", name_, "' is already closed."));
  if (!nothing_comes) return done(OkStatus());
  // The queue may be closed already, by the last component of the last key.
  ready_->Close(cancel, waiter, [done = std::move(done)](const Status&) { done(OkStatus()); });
}

int64_t Barrier::incomplete_size() {
  MutexLock lock(mu_);
  return static_cast<int64_t>(incomplete_.size());
}

}  // namespace millstream
