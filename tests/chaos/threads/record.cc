// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream::chaos {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kStepsAhead = 6;  // in which a round that was under way is over

std::string ToString(const Seen& seen) {
  return absl::StrCat("global step ", seen.global_step, ", values ", absl::StrJoin(seen.mine, " "));
}

}  // namespace

void Record::Note(int number, const Seen& seen) {
  MutexLock lock(mu_);
  Worker& worker = workers_[static_cast<size_t>(number)];
  if (seen.event == Seen::Event::kStarted) {
    worker.restarted = true;
    return;
  }
  if (seen.event == Seen::Event::kStep) {
    CheckStep(number, worker, seen);
    ++worker.steps;
    worker.recent.push_back(seen.time_ns);
    if (worker.recent.size() > 16) worker.recent.erase(worker.recent.begin());
    stepped_.NotifyAll();
  } else {
    CheckCreated(number, worker, seen);
  }
  worker.last = seen;
}

void Record::CheckStep(int number, Worker& worker, const Seen& seen) {
  if (rule_ == Rule::kCounters) CheckCounters(number, worker, seen);
  if (rule_ == Rule::kRounds) CheckRounds(number, worker, seen);
  if (rule_ == Rule::kReplicas) CheckReplicas(number, worker, seen);
  worker.base = seen;
  worker.exact = true;
}

// Each answered step adds 1 to each counter, whatever sessions in between have seen.
void Record::CheckCounters(int number, const Worker& worker, const Seen& seen) {
  for (size_t ps = 0; worker.base && ps < seen.mine.size(); ++ps) {
    const int64_t added = seen.mine[ps] - worker.base->mine[ps];
    if (added == 1 || (!worker.exact && added == 0)) continue;
    Violation(number, absl::StrCat("an answered step added ", added, " on ps:", ps), *worker.base, seen);
    break;
  }
}

bool Record::Fits(int64_t distance, Ahead* ahead) {
  if (distance < ahead->least) {  // the first that was seen may have been one of a round under way
    const bool fits = !ahead->sure && distance == ahead->least - 1;
    *ahead = {distance, true, 0};
    return fits;
  }
  ahead->steps = distance == ahead->least ? 0 : ahead->steps + 1;
  if (ahead->steps < kStepsAhead && distance <= ahead->least + 2) return true;
  *ahead = {distance, true, 0};
  return false;
}

void Record::CheckRounds(int number, Worker& worker, const Seen& seen) {
  const bool first = worker.ahead.empty();
  worker.ahead.resize(seen.mine.size());
  for (size_t i = 0; i < seen.mine.size(); ++i) {
    const int64_t distance = seen.mine[i] - seen.global_step;
    if (first) worker.ahead[i].least = distance;
    if (!Fits(distance, &worker.ahead[i]))
      Violation(number, absl::StrCat("a round was not applied once to value ", i), *worker.base, seen);
  }
}

void Record::CheckReplicas(int number, const Worker& worker, const Seen& seen) {
  for (size_t i = 0; i < seen.mine.size(); ++i) {
    if (seen.mine[i] == seen.global_step) continue;
    Violation(number, absl::StrCat("a step was not applied once to value ", i), worker.base.value_or(seen), seen);
    break;
  }
}

void Record::CheckFall(int number, const Worker& worker, const Seen& seen, bool reset) {
  if (reset) {
    const Loss& last = lost_.back();
    if (seen.global_step < last.restorable_step)
      Violation(number, absl::StrCat("less than the checkpoint of step ", last.restorable_step), *worker.last, seen);
    return;
  }
  // A step that was answered at a replica, and not at the root, is not the job's.
  const int64_t undone = rule_ == Rule::kReplicas && number != 0 ? 1 : 0;
  bool fell = seen.global_step < worker.base->global_step - undone, twice = false;
  for (size_t i = 0; rule_ == Rule::kCounters && i < seen.mine.size(); ++i) {
    fell = fell || seen.mine[i] < worker.base->mine[i];
    twice = twice || seen.mine[i] > worker.base->mine[i] + 1;
  }
  if (fell) Violation(number, "values fell though none was lost", *worker.base, seen);
  if (twice) Violation(number, "a step in flight was applied more than once", *worker.base, seen);
}

void Record::CheckCreated(int number, Worker& worker, const Seen& seen) {
  // Values fall back only where variables were lost since this worker looked last.
  const bool reset = worker.last && std::any_of(lost_.begin(), lost_.end(), [&](const Loss& lost) {
                       return lost.time_ns > worker.last->time_ns - kSecond;
                     });
  if (worker.base) CheckFall(number, worker, seen, reset);
  if (rule_ != Rule::kCounters) {
    if (reset) {
      worker.base.reset();  // what the first step finds is right
      worker.ahead.clear();
    }
  } else if (!worker.base || reset || worker.restarted) {
    worker.base = seen;
    worker.exact = !reset;  // it may have been tried in a session that was lost with the ps
  }
  worker.restarted = false;
}

void Record::Violation(int worker, const std::string& what, const Seen& before, const Seen& now) {
  violations_.push_back(absl::StrCat("worker:", worker, ": ", what, ": ", ToString(before), " -> ", ToString(now)));
}

void Record::VariablesLost(int64_t time_ns, int64_t restorable_step) {
  MutexLock lock(mu_);
  lost_.push_back({time_ns, restorable_step});
}

void Record::CheckpointLost(int64_t restorable_step) {
  MutexLock lock(mu_);
  for (Loss& lost : lost_) lost.restorable_step = std::min(lost.restorable_step, restorable_step);
}

std::vector<int> Record::AwaitSteps(int64_t since_ns, int steps, std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mu_);
  for (;;) {
    std::vector<int> behind;
    for (size_t i = 0; i < workers_.size(); ++i) {
      const std::vector<int64_t>& recent = workers_[i].recent;
      if (std::count_if(recent.begin(), recent.end(), [&](int64_t at) { return at > since_ns; }) < steps)
        behind.push_back(static_cast<int>(i));
    }
    if (behind.empty() || std::chrono::steady_clock::now() >= deadline) return behind;
    stepped_.WaitUntil(mu_, deadline);
  }
}

std::vector<std::string> Record::TakeViolations() {
  MutexLock lock(mu_);
  return std::exchange(violations_, {});
}

int64_t Record::steps() const {
  MutexLock lock(mu_);
  int64_t steps = 0;
  for (const Worker& worker : workers_) steps += worker.steps;
  return steps;
}

}  // namespace millstream::chaos
