// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/step_rounds.h"

#include <algorithm>

namespace millstream {

namespace {

constexpr size_t kMaxSteps = 256;
constexpr int kTimesUsual = 4, kFirstSkips = 16, kMaxDoublings = 12;
constexpr auto kLeastPatience = std::chrono::milliseconds(1);

}  // namespace

StepRounds::Rounds StepRounds::Release(Step& step) {
  holding_ -= step.held.size();
  return std::exchange(step.held, {});
}

void StepRounds::Fail(Step& step) {
  step.failures = std::min(step.failures + 1, kMaxDoublings);
  step.skips = kFirstSkips << step.failures;
}

StepRounds::Rounds StepRounds::Add(std::shared_ptr<collective::OpRound> round, Clock::time_point now) {
  const collective::OpRequest& request = *round->requests()[0];
  if (!holds_back_ || request.together <= 1) return {std::move(round)};
  if (steps_.size() >= kMaxSteps && holding_ == 0) steps_.clear();  // of sessions that are gone
  Step& step = steps_[{request.user, request.gate}];
  Rounds release;
  if (std::find(step.instances.begin(), step.instances.end(), round->instance) != step.instances.end()) {
    release = Release(step);  // the step before did not run all of them
    step.instances.clear();
    Fail(step);
  }
  if (step.instances.empty()) {
    step.first = now;
    if (step.skips > 0) --step.skips;
  }
  step.instances.push_back(round->instance);
  step.held.push_back(std::move(round));
  ++holding_;
  const bool is_last = static_cast<int64_t>(step.instances.size()) >= request.together;
  if (is_last) {
    const Clock::duration took = now - step.first;
    step.usual = step.usual == Clock::duration::max() ? took : step.usual + (took - step.usual) / 8;
    step.failures = 0;
    step.instances.clear();
  }
  if (is_last || step.skips > 0 || step.usual == Clock::duration::max()) {
    for (std::shared_ptr<collective::OpRound>& one : Release(step)) release.push_back(std::move(one));
  }
  return release;
}

StepRounds::Rounds StepRounds::TakeLate(Clock::time_point now) {
  Rounds late;
  for (auto& [key, step] : steps_) {
    if (step.held.empty() || now - step.first < kTimesUsual * step.usual + kLeastPatience) continue;
    Fail(step);
    for (std::shared_ptr<collective::OpRound>& one : Release(step)) late.push_back(std::move(one));
  }
  return late;
}

}  // namespace millstream
