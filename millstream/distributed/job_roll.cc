// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/job_roll.h"

#include <algorithm>
#include <utility>

namespace millstream {

JobRoll::JobRoll(std::vector<std::string> workers) : workers_(std::move(workers)) {}

bool JobRoll::Expected(const std::string& task) const {
  return std::find(workers_.begin(), workers_.end(), task) != workers_.end();
}

std::vector<std::string> JobRoll::Missing() const {
  std::vector<std::string> missing;
  for (const std::string& task : workers_) {
    if (!left_.contains(task) && !told_.contains(task)) missing.push_back(task);
  }
  return missing;
}

StatusOr<bool> JobRoll::CheckIn(const std::string& task, uint64_t incarnation) {
  MutexLock lock(mu_);
  if (!Expected(task)) return closed_;  // somebody who only looks
  const uint64_t before = std::exchange(seen_[task], incarnation);
  const bool comes_back = before != incarnation && left_.erase(task) > 0;
  if (!closed_) return false;
  next_job_ = next_job_ || comes_back;
  if (next_job_) {
    changed_.NotifyAll();
    return errors::Unavailable("the job is done and this task ends; ", task, " has been started for another one");
  }
  told_.insert(task);
  changed_.NotifyAll();
  return true;
}

void JobRoll::Leave(const std::string& task, uint64_t incarnation) {
  if (!Expected(task)) return;
  MutexLock lock(mu_);
  const auto [it, is_new] = seen_.emplace(task, incarnation);
  if (it->second != incarnation) return;  // its successor is here already
  left_.insert(task);
  changed_.NotifyAll();
}

std::vector<std::string> JobRoll::left() const {
  MutexLock lock(mu_);
  return {left_.begin(), left_.end()};
}

std::vector<std::string> JobRoll::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  return Missing();
}

void JobRoll::AwaitLate(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mu_);
  while (!stopped_ && !next_job_ && !Missing().empty()) {
    if (!changed_.WaitUntil(mu_, deadline)) return;
  }
}

void JobRoll::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace millstream
