// SPDX-License-Identifier: Apache-2.0
// What other tasks tell a task about collective groups.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "millstream/base/logging.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/collective/task_ops.h"

namespace millstream {

StatusOr<Tensor> TaskOps::Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) {
  if (frame.kind == kCollectiveGroup) return errors::InvalidArgument("A note about a collective group has a payload");
  return exchange_.Allocate(link, frame, bytes);
}

void TaskOps::Receive(PeerLink& link, Frame frame) {
  if (frame.kind != kCollectiveGroup) return exchange_.Receive(link, std::move(frame));
  const StatusOr<GroupNote> note = GroupNote::FromFrame(frame);
  if (note.ok()) {
    if (note->kind == GroupNote::kJoin) AnswerOn(link);
    return Handle(link.peer(), *note);
  }
  LogWarning(absl::StrCat(EscapeUntrusted(link.peer()), ": ", note.status().message()));
}

void TaskOps::Handle(const std::string& task, const GroupNote& note) {
  switch (note.kind) {
    case GroupNote::kJoin:
      for (GroupRegistry::Outgoing& out : registry_.Join(task, note)) Tell(out.task, std::move(out.note));
      return;
    case GroupNote::kLeave:
      return registry_.Leave(task, note);
    case GroupNote::kFormed:
      if (task == leader()) Formed(note);
      return;
    case GroupNote::kFail:
      return Fail(note.group, note.epoch, note.failure(), false);
    case GroupNote::kAsk:
      return AnswerAsk(task, note);
    case GroupNote::kMissing:
      return Answered(note.words[0], note.words[1]);
    default:
      if (const std::shared_ptr<TaskGroup> group = Find(note.group, note.epoch)) return group->Receive(task, note);
      return KeepEarly(task, note);
  }
}

void TaskOps::KeepEarly(const std::string& task, const GroupNote& note) {
  constexpr size_t kEarlyNotes = 4096;
  MutexLock lock(mu_);
  if (early_.size() >= kEarlyNotes) early_.erase(early_.begin(), early_.begin() + kEarlyNotes / 2);
  early_.emplace_back(task, note);
}

TaskGroup::Callbacks TaskOps::CallbacksFor(const GroupNote& note) {
  TaskGroup::Callbacks callbacks;
  callbacks.form = [this](const TaskGroup& group) { return FormGroup(group); };
  callbacks.tell = [this](const std::string& task, GroupNote one) { Tell(task, std::move(one)); };
  callbacks.finish = [this](collective::OpRound& round, const Status& status, const std::vector<Tensor>& outputs) {
    Finish(round, status, outputs);
  };
  callbacks.failed = [this, name = note.group, epoch = note.epoch](const Status& why) { Fail(name, epoch, why, true); };
  return callbacks;
}

// Whether what the tasks on this host compute keeps all of its cores busy, so that none is left for a reduction.
bool TaskOps::CoresAreScarce(const GroupLayout& layout) const {
  const auto host_of = [&](const std::string& task) {
    const auto address = options_.addresses.find(task);
    return address == options_.addresses.end() ? std::string() : HostOf(address->second);
  };
  const std::string own = host_of(options_.task);
  const auto here = std::count_if(layout.tasks.begin(), layout.tasks.end(), [&](const std::string& task) {
    return task == options_.task || host_of(task) == own;
  });
  return here * options_.threads >= NumCores();
}

void TaskOps::Formed(const GroupNote& note) {
  int size = 0;
  if (!absl::SimpleAtoi(note.words[0], &size) || size <= 0 || note.words.size() != 1 + 2 * static_cast<size_t>(size)) {
    return;
  }
  GroupLayout layout = GroupLayout::Of({note.words.begin() + 1, note.words.end()});
  if (layout.RankOf(options_.task) < 0) return;
  const auto group = std::make_shared<TaskGroup>(note.group, note.epoch, size, layout, options_.task,
                                                 CallbacksFor(note), CoresAreScarce(layout));
  std::vector<std::pair<std::string, GroupNote>> early;
  bool wanted = false;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    const auto known = known_.find(note.group);
    wanted = known != known_.end() && known->second.size == size && known->second.group == nullptr;
    if (wanted) known->second.group = group;
    for (auto it = early_.begin(); wanted && it != early_.end();) {
      const bool ours = it->second.group == note.group && it->second.epoch == note.epoch;
      if (ours) early.push_back(std::move(*it));
      it = ours ? early_.erase(it) : std::next(it);
    }
  }
  if (!wanted) {  // its ops were cancelled meanwhile
    const Status why = errors::Aborted(options_.task, " has left the group before it was formed");
    for (const std::string& task : layout.tasks) {
      if (task != options_.task) Tell(task, GroupNote::Failure(note.group, note.epoch, why));
    }
    return;
  }
  group->Start();
  for (const auto& [task, one] : early) group->Receive(task, one);
  SetLocalMembers(note.group, group->local_members());
}

void TaskOps::LinkLost(PeerLink& link, const Status& why) {
  exchange_.LinkLost(link, why);
  const std::string& task = link.peer();
  bool has_other = false;  // a newer link, by which it may have joined groups since
  {
    MutexLock lock(mu_);
    const auto route = routes_.find(task);
    has_other = route != routes_.end() && route->second.link != nullptr && route->second.link.get() != &link;
    // A link to an earlier incarnation, whose end is noticed late.
    if (route != routes_.end() && route->second.link != nullptr &&
        route->second.link->peer_incarnation() != link.peer_incarnation()) {
      return;
    }
  }
  if (!has_other) registry_.TaskLost(task);
  const auto reason = [&](const std::string& name) {
    return errors::Unavailable("Collective group ", name, ": ", ShortTaskName(task), " has left: ", why.message());
  };
  std::vector<std::shared_ptr<TaskGroup>> formed;
  std::vector<std::string> joining;
  {
    MutexLock lock(mu_);
    if (const auto route = routes_.find(task); route != routes_.end()) route->second.link = nullptr;
    for (const auto& [name, known] : known_) {
      if (known.group != nullptr && known.group->layout().RankOf(task) >= 0) {
        formed.push_back(known.group);
      } else if (known.group == nullptr && task == leader_) {
        joining.push_back(name);
      }
    }
  }
  for (const std::shared_ptr<TaskGroup>& group : formed) group->Lose(reason(group->name()));
  for (const std::string& name : joining) Fail(name, 0, reason(name), /*tell=*/false);
}

}  // namespace millstream
