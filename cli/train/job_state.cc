// SPDX-License-Identifier: Apache-2.0
#include "cli/train/job_state.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "cli/train/process_usage.h"

namespace millstream::cli {
namespace {

constexpr double kRateSecs = 3;         // rates are over this long
constexpr double kShortestUsage = 0.2;  // seconds between two looks that tell the use of processors

}  // namespace

JobState::JobState(const TrainOptions& options, const std::vector<std::string>& tasks) : options_(options) {
  for (const std::string& name : tasks) {
    tasks_.emplace_back();
    tasks_.back().name = name;
  }
}

JobState::Task* JobState::FindTask(const std::string& name) {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& task) { return task.name == name; });
  return found == tasks_.end() ? nullptr : &*found;
}

void JobState::Progress(const TrainEvent& event, Task* task) {
  classes_ = event.classes;
  if (first_global_step_ < 0) first_global_step_ = std::max<int64_t>(event.global_step - 1, 0);
  global_step_ = std::max(global_step_, event.global_step);
  const double now = Elapsed();
  if (first_step_secs_ < 0) first_step_secs_ = now;
  last_step_secs_ = now;
  history_.emplace_back(now, global_step_);
  while (history_.size() > 2 && history_[1].first < now - kRateSecs) history_.pop_front();
  if (task == nullptr) return;
  task->state = "training";
  task->local_step = event.local_step;
  task->steps_per_sec = event.steps_per_sec;
  task->loss = event.loss;
  task->score = event.score;
}

void JobState::Handle(const TrainEvent& event) {
  Task* task = FindTask(event.task);
  switch (event.kind) {
    case TrainEvent::Kind::kStarted:
      if (task != nullptr) {
        task->pid = event.pid;
        task->state = absl::StartsWith(task->name, "ps") ? "serving" : "loading data";
      }
      if (!event.status_page.empty()) status_page_ = event.status_page;
      break;
    case TrainEvent::Kind::kData:
      data_ = event.text;
      break;
    case TrainEvent::Kind::kVariables:
      for (const auto& [name, bytes] : event.bytes) {
        if (Task* ps = FindTask(name); ps != nullptr) ps->variable_bytes = bytes;
      }
      break;
    case TrainEvent::Kind::kNothingToDo:
      nothing_to_do_ = true;
      global_step_ = event.global_step;
      break;
    case TrainEvent::Kind::kProgress:
      Progress(event, task);
      break;
    case TrainEvent::Kind::kEval:
      eval_ = event;
      classes_ = event.classes;
      break;
    case TrainEvent::Kind::kSaved:
      checkpoint_ = event.path;
      break;
    case TrainEvent::Kind::kError:
      if (task != nullptr) task->state = "failed";
      break;
    case TrainEvent::Kind::kDone:
      if (task != nullptr) {
        task->state = "done";
        task->local_step = event.local_step;
      }
      global_step_ = std::max(global_step_, event.global_step);
      ReadUsage();  // the last chance: tasks end now, perhaps the first time that anybody looks
      break;
    case TrainEvent::Kind::kRestored:
    case TrainEvent::Kind::kKept:
    case TrainEvent::Kind::kNote:
      break;
  }
}

double JobState::StepsPerSec() const {
  if (finished_) return static_cast<double>(steps_made()) / std::max(train_secs(), 1e-3);
  if (history_.size() < 2) return 0;
  const double seconds = history_.back().first - history_.front().first;
  return seconds <= 0 ? 0 : static_cast<double>(history_.back().second - history_.front().second) / seconds;
}

// Each worker's own steps: in synchronous training several of them make one global step.
double JobState::ExamplesPerSec() const {
  double rate = 0;
  for (const Task& task : tasks_) {
    if (finished_)
      rate += static_cast<double>(task.local_step) / std::max(train_secs(), 1e-3);
    else
      rate += task.state == "training" ? task.steps_per_sec : 0;
  }
  return rate * static_cast<double>(options_.batch_size);
}

std::pair<double, double> JobState::LossAndScore() const {
  double loss = 0, score = 0;
  int known = 0;
  for (const Task& task : tasks_) {
    if (task.loss == -1) continue;
    loss += task.loss;
    score += task.score;
    ++known;
  }
  return known == 0 ? std::pair(-1.0, -1.0) : std::pair(loss / known, score / known);
}

void JobState::ReadUsage() {
  const Clock::time_point now = Clock::now();
  for (Task& task : tasks_) {
    const std::optional<ProcessUsage> usage = task.pid == 0 ? std::nullopt : ReadProcessUsage(task.pid);
    if (!usage) continue;
    task.memory_mb = usage->memory_mb;
    const double seconds = std::chrono::duration<double>(now - task.cpu_at).count();
    if (task.cpu_secs >= 0 && seconds < kShortestUsage) continue;
    if (task.cpu_secs >= 0) task.cpu = (usage->cpu_secs - task.cpu_secs) / seconds;
    task.cpu_secs = usage->cpu_secs;
    task.cpu_at = now;
  }
}

}  // namespace millstream::cli
