// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/step_watch.h"

#include <algorithm>

#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr int kLooksPerQuestion = 4;
// Questions without an answer before a step is given up, in times of `ask_after`: with the first one as long as it
// takes a link to find out that its other end is silent.
constexpr int kPatience = 3;
constexpr int kTellEvery = 3;  // in times of `ask_after`

StepWatch::Clock::time_point TimeOf(int64_t steady_nanos) {
  return StepWatch::Clock::time_point(
      std::chrono::duration_cast<StepWatch::Clock::duration>(std::chrono::nanoseconds(steady_nanos)));
}

int64_t Seconds(StepWatch::Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

StepWatch::StepWatch(Hooks hooks, std::chrono::milliseconds ask_after)
    : hooks_(std::move(hooks)), ask_after_(std::max(ask_after, std::chrono::milliseconds(kLooksPerQuestion))) {
  thread_ = std::thread([this] { Main(); });
}

StepWatch::~StepWatch() {
  quit_.Notify();
  thread_.join();
}

void StepWatch::Main() {
  while (!quit_.WaitUntil(Clock::now() + ask_after_ / kLooksPerQuestion)) {
    Look(Clock::now());
    hooks_.tick();
  }
}

void StepWatch::Look(Clock::time_point now) {
  const std::vector<AwaitedTask> awaited = hooks_.awaited(now - ask_after_ / kLooksPerQuestion);
  std::vector<std::pair<uint64_t, Status>> failed;
  {
    MutexLock lock(mu_);
    std::map<Key, Wait> waits;
    for (const AwaitedTask& one : awaited) {
      const Key key(one.step, one.incarnation);
      const auto known = waits_.find(key);
      Wait& wait = waits[key];
      if (known != waits_.end() && known->second.progress == one.progress) {
        wait = known->second;
      } else {
        wait.since = now - ask_after_ / kLooksPerQuestion;
        wait.next_question = wait.since + ask_after_;
        wait.progress = one.progress;
      }
      LookAt(one, &wait, now);
    }
    waits_.swap(waits);
    failed.swap(failed_);
  }
  for (const auto& [step, why] : failed) hooks_.fail(step, why);
}

void StepWatch::LookAt(const AwaitedTask& awaited, Wait* wait, Clock::time_point now) {
  if (now < wait->next_question) return;
  const std::vector<std::shared_ptr<PeerLink>> links = hooks_.links(awaited.incarnation);
  if (links.empty()) {
    failed_.emplace_back(awaited.step,
                         errors::Unavailable("Values of ", awaited.task, " were lost with the link to it"));
    return;
  }
  if (wait->first_question == Clock::time_point::max()) wait->first_question = now;
  for (const auto& link : links) wait->last_sign = std::max(wait->last_sign, TimeOf(link->last_heard_ns()));
  const auto silent = now - std::max(wait->last_sign, wait->first_question);
  if (silent > kPatience * ask_after_) {
    failed_.emplace_back(awaited.step, errors::Unavailable("Waited ", Seconds(now - wait->since), " s for values of ",
                                                           awaited.task, ", which does not answer"));
    return;
  }
  if (wait->first_question < now && wait->last_sign < wait->first_question) Tell(awaited, *wait, now);
  Frame question;
  question.kind = kAskStep;
  question.step = awaited.step;
  for (const auto& link : links) link->Send(question);
  // Soon again until it has answered once, so that silence is noticed early.
  const bool answered = wait->last_sign >= wait->first_question;
  wait->next_question = now + (answered ? ask_after_ : ask_after_ / kLooksPerQuestion);
}

void StepWatch::Tell(const AwaitedTask& awaited, const Wait& wait, Clock::time_point now) {
  auto [told, first] = told_.try_emplace(awaited.task, now);
  if (!first && now - told->second < kTellEvery * ask_after_) return;
  told->second = now;
  LogWarning(absl::StrCat(hooks_.task, ": a step has waited ", Seconds(now - wait.since), " s for values of ",
                          awaited.task, ", which does not answer"));
}

void StepWatch::Answered(uint64_t step, uint64_t incarnation) {
  MutexLock lock(mu_);
  const auto wait = waits_.find(Key(step, incarnation));
  if (wait != waits_.end()) wait->second.last_sign = Clock::now();
}

}  // namespace millstream
