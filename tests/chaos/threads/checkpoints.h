// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_CHECKPOINTS_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_CHECKPOINTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"

namespace millstream::chaos {

// The folder in which a job saves, deleted at its end. Thread-safe.
class Checkpoints {
 public:
  Checkpoints();
  ~Checkpoints();

  const std::string& folder() const { return folder_; }
  // The chief has said that this one is whole.
  void Saved(const std::string& prefix, int64_t step);
  // The highest step of which a training that is restored may not fall short; 0: none.
  int64_t restorable_step() const;
  // Cuts the data of the latest one in half. Its name; "" if there is nothing to damage, or if it would be the only
  // one.
  std::string DamageLatest();
  // What of the folder cannot be read although nobody has damaged it.
  std::vector<std::string> Unreadable() const;

 private:
  bool IsWhole(const std::string& prefix) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::set<std::string> Listed() const;

  const std::string folder_;
  mutable Mutex mu_;
  std::map<std::string, int64_t> saved_ ABSL_GUARDED_BY(mu_);  // steps, by prefix
  std::set<std::string> damaged_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_CHECKPOINTS_H_
