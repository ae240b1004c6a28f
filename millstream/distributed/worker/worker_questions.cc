// SPDX-License-Identifier: Apache-2.0
// What workers ask each other about steps that have waited long.
#include <algorithm>

#include "millstream/distributed/worker/step_watch.h"
#include "millstream/distributed/worker/worker_step.h"

namespace millstream {
namespace {

// A master numbers its steps one after the other, from a random number on: two numbers this close are of one master.
constexpr uint64_t kStepsOfOneMaster = uint64_t{1} << 32;
// So many later steps of its master have ended: one that is not known here has been forgotten, and will not begin.
constexpr int kLaterSteps = 1024;

}  // namespace

void Worker::WatchSteps() {
  StepWatch::Hooks hooks;
  hooks.task = options_.task;
  hooks.awaited = [this](std::chrono::steady_clock::time_point begun_before) { return AwaitedTasks(begun_before); };
  hooks.links = [this](uint64_t incarnation) { return LinksWith(incarnation); };
  hooks.fail = [this](uint64_t step, const Status& why) {
    if (const StepPtr running = FindStep(step, /*create=*/false)) running->cancellation.StartCancel(why);
  };
  hooks.tick = [this] { DropStaleSteps(); };
  watch_ = std::make_unique<StepWatch>(std::move(hooks), options_.ask_after);
}

std::vector<AwaitedTask> Worker::AwaitedTasks(std::chrono::steady_clock::time_point begun_before) const {
  std::vector<StepPtr> steps;
  running_.ForEach([&](Step& step) {
    if (!step.part->from.empty() && step.first_heard < begun_before) steps.push_back(step.shared_from_this());
  });
  std::vector<AwaitedTask> awaited;
  for (const StepPtr& step : steps) {
    const uint64_t delivered = step->exchange.num_delivered();
    const std::vector<uint32_t> edges = step->exchange.AwaitedEdges();
    const auto is_awaited = [&](uint32_t edge) { return std::find(edges.begin(), edges.end(), edge) != edges.end(); };
    for (const FromTask& from : step->part->from) {
      if (std::any_of(from.edges.begin(), from.edges.end(), is_awaited))
        awaited.push_back({step->id, delivered, from.name, from.incarnation});
    }
  }
  return awaited;
}

// At the task that is asked.

StepState Worker::StateOfEnded(uint64_t step) const {
  if (ended_.contains(step)) return kSentAll;
  int later = 0;
  for (const uint64_t other : ended_order_) {
    if (step - other < kStepsOfOneMaster) return kNotBegun;  // an earlier one is remembered
    if (other - step < kStepsOfOneMaster) ++later;
  }
  return later >= kLaterSteps ? kSentInVain : kNotBegun;
}

StepState Worker::StateOf(uint64_t step, const PeerLink& asker, std::shared_ptr<PeerLink>* over) const {
  uint32_t part_number = 0;
  {
    MutexLock lock(steps_mu_);
    if (steps_.contains(step)) return kRunning;
    if (const StepState state = StateOfEnded(step); state != kSentAll) return state;
    part_number = ended_.at(step);
  }
  MutexLock lock(sessions_mu_);
  const auto part = parts_.find(part_number);
  if (part == parts_.end() || !part->second->CheckWhole().ok()) return kSentInVain;
  const EdgeLinks& links = part->second->links;
  const auto link = std::find_if(links.begin(), links.end(), [&](const std::shared_ptr<PeerLink>& used) {
    return used != nullptr && used->peer_incarnation() == asker.peer_incarnation();
  });
  if (link == links.end()) return kSentInVain;
  *over = *link;
  return kSentAll;
}

void Worker::AnswerAboutStep(PeerLink& asker, uint64_t step) const {
  std::shared_ptr<PeerLink> over;
  Frame answer;
  answer.kind = kStepState;
  answer.step = step;
  answer.edge = StateOf(step, asker, &over);
  (over != nullptr ? *over : asker).Send(std::move(answer));
}

// At the task that has asked.

void Worker::HearAboutStep(const PeerLink& link, uint64_t id, uint32_t state) {
  questions_answered_.Add();
  watch_->Answered(id, link.peer_incarnation());
  if (state != kSentAll && state != kSentInVain) return;
  const StepPtr step = FindStep(id, /*create=*/false);
  if (step == nullptr) return;
  // Values that were sent over the same link before the answer have been delivered by now.
  for (const AwaitedTask& awaited : AwaitedTasks(std::chrono::steady_clock::time_point::max())) {
    if (awaited.step != id || awaited.incarnation != link.peer_incarnation()) continue;
    step->cancellation.StartCancel(
        errors::Unavailable("Values that ", awaited.task, " has sent were lost with a link between the tasks"));
  }
}

void Worker::LinkOpened(PeerLink& link) {
  MutexLock lock(links_mu_);
  std::erase_if(links_, [](const std::weak_ptr<PeerLink>& other) { return other.expired(); });
  links_.push_back(link.weak_from_this());
}

std::vector<std::shared_ptr<PeerLink>> Worker::LinksWith(uint64_t incarnation) const {
  std::vector<std::shared_ptr<PeerLink>> links;
  MutexLock lock(links_mu_);
  for (const auto& weak : links_) {
    std::shared_ptr<PeerLink> link = weak.lock();
    if (link != nullptr && link->peer_incarnation() == incarnation) links.push_back(std::move(link));
  }
  return links;
}

}  // namespace millstream
