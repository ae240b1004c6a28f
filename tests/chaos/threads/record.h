// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_RECORD_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_RECORD_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"

namespace millstream::chaos {

// What a worker saw: the values that its mode checks and the global step.
struct Seen {
  enum class Event { kStarted, kCreated, kStep } event = Event::kStarted;
  int64_t time_ns = 0;
  int64_t global_step = 0;
  std::vector<int64_t> mine;
};

// What all workers of a job have seen, and when variables were lost. Checks each event as it comes. Thread-safe.
class Record {
 public:
  enum class Rule {
    kCounters,  // each answered step adds 1 to each value of its worker, and nobody else does
    kRounds,    // each round adds 1 to each value and then to the global step: a value may be ahead while a round is
                // under way, but not for good, and never behind
    kReplicas   // the same in variables of each worker's own: all are equal, and a step that the root has not made
                // is undone at the others
  };
  explicit Record(int workers, Rule rule = Rule::kCounters) : rule_(rule), workers_(static_cast<size_t>(workers)) {}

  void Note(int worker, const Seen& seen);
  // A task was lost with its variables. Whatever takes their place is no older than this step.
  void VariablesLost(int64_t time_ns, int64_t restorable_step = 0);
  // There is no better checkpoint than this any more.
  void CheckpointLost(int64_t restorable_step);
  // Waits until every worker has had `steps` steps answered since `since_ns`; the workers that have not by `deadline`.
  std::vector<int> AwaitSteps(int64_t since_ns, int steps, std::chrono::steady_clock::time_point deadline);
  std::vector<std::string> TakeViolations();
  int64_t steps() const;

 private:
  // Of a value, compared with the global step.
  struct Ahead {
    int64_t least = 0;  // since variables were lost last
    bool sure = false;  // that it was not seen while a round was under way
    int steps = 0;      // that have seen it more ahead, one after the other
  };
  // Of one worker: what the next answered step adds to, and what came last.
  struct Worker {
    std::optional<Seen> base, last;
    std::vector<Ahead> ahead;  // kRounds
    bool restarted = true, exact = true;
    std::vector<int64_t> recent;  // when the last steps were answered
    int64_t steps = 0;
  };
  void CheckStep(int number, Worker& worker, const Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckCounters(int number, const Worker& worker, const Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckRounds(int number, Worker& worker, const Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckReplicas(int number, const Worker& worker, const Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether a value that is so far ahead of the global step was updated once by each round.
  static bool Fits(int64_t distance, Ahead* ahead);
  void CheckFall(int number, const Worker& worker, const Seen& seen, bool reset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckCreated(int number, Worker& worker, const Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Violation(int worker, const std::string& what, const Seen& before, const Seen& now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Rule rule_;
  mutable Mutex mu_;
  CondVar stepped_;
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);
  struct Loss {
    int64_t time_ns, restorable_step;
  };
  std::vector<Loss> lost_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> violations_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_RECORD_H_
