// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_MONITORING_CENSUS_H_
#define MILLSTREAM_FRAMEWORK_MONITORING_CENSUS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/mutex.h"
#include "millstream/framework/resource_manager.h"

namespace millstream {

// What people may want to see of a queue while it lives. Its owner writes under its own lock, anybody reads: relaxed
// values, each true for itself.
struct ObservedQueue {
  std::string kind;  // "FIFOQueue"
  std::string name;
  std::string device;     // full name of the device it lives on
  int64_t capacity = -1;  // negative: unbounded
  std::atomic<int64_t> size{0};
  std::atomic<int64_t> waiting_to_enqueue{0}, waiting_to_dequeue{0};
  std::atomic<bool> closed{false};
};

// The same of a gradient accumulator.
struct ObservedAccumulator {
  std::string name;
  std::string device;
  std::atomic<int64_t> pending{0};  // gradients since the last take
  std::atomic<int64_t> applied{0}, dropped{0}, taken{0};
  std::atomic<int64_t> steps_late{0};  // of all dropped gradients together
  std::atomic<int64_t> global_step{0};
  std::atomic<int64_t> waiting_to_take{0};
};

// The same of a clock that bounds the staleness of workers.
struct ObservedClock {
  static constexpr size_t kBuckets = 64;
  // Only the owner's lock lets anybody call it.
  void Count(int64_t lead) {
    std::atomic<int64_t>& bucket = leads[static_cast<size_t>(std::clamp<int64_t>(lead, 0, kBuckets - 1))];
    bucket.store(bucket.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::string name;
  std::string device;
  int64_t bound = 0, workers = 0;
  std::atomic<int64_t> slowest{0};  // steps of the slowest worker
  std::atomic<int64_t> waiting{0};  // workers that are held back
  // How many steps began with the worker so many steps ahead of the slowest one; the last counts longer leads, too.
  std::array<std::atomic<int64_t>, kBuckets> leads{};
};

// A value that a summary op has seen: the newest, and how many there were.
struct ObservedScalar {
  std::string tag;
  double value = 0;
  uint64_t count = 0;
};

// What lives at one task. Entries go when their owners do. Kernels find it among the resources of their task; where
// nobody looks, as in sessions without a server, there is none. Thread-safe.
class Census final : public Resource {
 public:
  // Of the task that has these resources (may be null); null if it has none.
  static Ref<Census> Of(const ResourceManager* resources);
  // From now on kernels that use `resources` find this one.
  void AttachTo(ResourceManager* resources);

  void Add(const std::shared_ptr<ObservedQueue>& queue);
  void Add(const std::shared_ptr<ObservedAccumulator>& accumulator);
  void Add(const std::shared_ptr<ObservedClock>& clock);
  // The first kMaxScalars tags are kept, later ones are ignored.
  void Report(absl::string_view tag, double value);

  std::vector<std::shared_ptr<const ObservedQueue>> Queues();
  std::vector<std::shared_ptr<const ObservedAccumulator>> Accumulators();
  std::vector<std::shared_ptr<const ObservedClock>> Clocks();
  std::vector<ObservedScalar> Scalars() const;
  std::string DebugString() const override { return "Census"; }

  static constexpr size_t kMaxScalars = 64;

 private:
  mutable Mutex mu_;
  std::vector<std::weak_ptr<ObservedQueue>> queues_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<ObservedAccumulator>> accumulators_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<ObservedClock>> clocks_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, ObservedScalar, std::less<>> scalars_ ABSL_GUARDED_BY(mu_);  // by tag
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_MONITORING_CENSUS_H_
