// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_STEP_ROUNDS_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_STEP_ROUNDS_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/collective/op_hub.h"

namespace millstream {

// Holds back the reductions of a step until the last one that the step's updates wait for is there, where computing
// them meanwhile would take the cores from what the step still computes. What is held back is then announced to the
// other tasks, and reduced, in one go.
//
// It learns how long a step usually takes from its first reduction to its last one and holds back for a few times as
// long: a step that does not run all of them (a branch was not taken) is late once, and then left alone for a growing
// number of steps. Not thread-safe.
class StepRounds {
 public:
  using Clock = std::chrono::steady_clock;
  using Rounds = std::vector<std::shared_ptr<collective::OpRound>>;

  explicit StepRounds(bool holds_back) : holds_back_(holds_back) {}

  // A round is complete in this task. Returns what is to be announced now, in order.
  Rounds Add(std::shared_ptr<collective::OpRound> round, Clock::time_point now);
  // What has been held back for too long.
  Rounds TakeLate(Clock::time_point now);
  bool is_holding() const { return holding_ > 0; }
  bool holds_back() const { return holds_back_; }

 private:
  struct Step {
    Clock::time_point first;             // when the first of its reductions came
    std::vector<std::string> instances;  // that have come
    Rounds held;
    Clock::duration usual = Clock::duration::max();  // from the first to the last; max(): not known yet
    int failures = 0;                                // times in a row that the last one did not come in time
    int skips = 0;                                   // steps for which nothing is held back
  };

  Rounds Release(Step& step);
  void Fail(Step& step);

  const bool holds_back_;
  std::map<std::pair<const void*, int64_t>, Step> steps_;  // by user and gate
  size_t holding_ = 0;                                     // rounds
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_STEP_ROUNDS_H_
