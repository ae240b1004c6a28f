// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_JOB_ROLL_H_
#define MILLSTREAM_DISTRIBUTED_JOB_ROLL_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream {

// What a ps task knows of the workers of its job, from what they say to it: who has left after a training that ended
// well. When the last one leaves, the job is done. Others may be about to come, for the first time or after they were
// killed: the ps then stays a while to tell them. Thread-safe.
class JobRoll {
 public:
  // Names of the tasks that are expected; what others say is not kept.
  explicit JobRoll(std::vector<std::string> workers);

  // A task is there; if it had left, it has been started again. Returns whether the job is done; Unavailable if it is,
  // and this is a task of the next one, which needs ps tasks of its own.
  StatusOr<bool> CheckIn(const std::string& task, uint64_t incarnation);
  void Leave(const std::string& task, uint64_t incarnation);
  std::vector<std::string> left() const;

  // The job is done. Returns who has not left.
  std::vector<std::string> Close();
  // After Close(): waits until all have left or were told, a task of the next job comes, or Stop().
  void AwaitLate(std::chrono::steady_clock::time_point deadline);
  void Stop();

 private:
  bool Expected(const std::string& task) const;
  std::vector<std::string> Missing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<std::string> workers_;
  mutable Mutex mu_;
  CondVar changed_;
  std::map<std::string, uint64_t> seen_ ABSL_GUARDED_BY(mu_);  // incarnations
  std::set<std::string> left_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> told_ ABSL_GUARDED_BY(mu_);  // that the job is done
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool next_job_ ABSL_GUARDED_BY(mu_) = false;  // its first task has come
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_JOB_ROLL_H_
