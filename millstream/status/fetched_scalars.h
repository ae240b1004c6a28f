// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_FETCHED_SCALARS_H_
#define MILLSTREAM_STATUS_FETCHED_SCALARS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/observer/task_observer.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// The newest value of a number that clients fetch. Writing is two relaxed stores.
class FetchedScalar final : public FetchObserver {
 public:
  // Ignores what is not a single number.
  void Fetched(const Tensor& value) override;
  double value() const { return value_.load(std::memory_order_relaxed); }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
  std::atomic<uint64_t> count_{0};
};

// Numbers that clients of a task's master fetch in their steps: loss, accuracy, the global step. By name of the tensor,
// and apart for steps that train and for steps that only compute: the same loss may be of training data in the former
// and of test data in the latter. Thread-safe.
class FetchedScalars {
 public:
  // Where a signature that fetches `name` of type `dtype` puts it; null if it is of no interest: not a floating point
  // type (the global step excepted), or one name too many.
  std::shared_ptr<FetchedScalar> Find(const std::string& name, DType dtype, bool trains);

  struct Entry {
    std::string name;
    bool trains = false;
    double value = 0;
    uint64_t count = 0;
  };
  std::vector<Entry> List() const;  // those that were fetched at least once

  static constexpr size_t kMaxNames = 64;
  // "global_step:0", "train/global_step:0".
  static bool IsGlobalStep(absl::string_view name);

 private:
  mutable Mutex mu_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<FetchedScalar>> scalars_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_FETCHED_SCALARS_H_
