// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_CENSUS_H_
#define MILLSTREAM_FRAMEWORK_CENSUS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/mutex.h"

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

// A value that a summary op has seen: the newest, and how many there were.
struct ObservedScalar {
  std::string tag;
  double value = 0;
  uint64_t count = 0;
};

// What lives in this process, by device: a process may serve several tasks. Entries go when their owners do.
// Thread-safe.
class Census {
 public:
  static Census& Global();

  void Add(const std::shared_ptr<ObservedQueue>& queue);
  void Add(const std::shared_ptr<ObservedAccumulator>& accumulator);
  // The first kMaxScalars tags of a device are kept, later ones are ignored.
  void Report(absl::string_view device, absl::string_view tag, double value);

  // Of the devices whose names begin with `task` ("/job:ps/replica:0/task:0") and a slash.
  std::vector<std::shared_ptr<const ObservedQueue>> Queues(absl::string_view task);
  std::vector<std::shared_ptr<const ObservedAccumulator>> Accumulators(absl::string_view task);
  std::vector<ObservedScalar> Scalars(absl::string_view task) const;

  static constexpr size_t kMaxScalars = 64;

 private:
  mutable Mutex mu_;
  std::vector<std::weak_ptr<ObservedQueue>> queues_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<ObservedAccumulator>> accumulators_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::map<std::string, ObservedScalar, std::less<>>, std::less<>> scalars_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_CENSUS_H_
