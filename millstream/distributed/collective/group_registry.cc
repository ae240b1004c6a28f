// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/group_registry.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "millstream/base/random.h"

namespace millstream {
namespace {

constexpr size_t kMaxGroups = 4096;  // that are being formed, or remembered
constexpr int kMaxMembers = 1 << 14;

std::set<std::string> TasksOf(const auto& members) {
  std::set<std::string> tasks;
  for (const auto& [member, task] : members) tasks.insert(task);
  return tasks;
}

std::string JobOf(const std::string& task) { return task.substr(0, task.find("/replica:")); }

}  // namespace

// A leader that was restarted must not give out epochs that others remember.
GroupRegistry::GroupRegistry(std::map<std::string, std::string> addresses)
    : addresses_(std::move(addresses)), last_epoch_(RandomNumber() >> 2) {}

std::string ShortTaskName(const std::string& task) {
  return absl::StrReplaceAll(task, {{"/job:", ""}, {"/replica:0/task:", ":"}});
}

std::vector<GroupRegistry::Outgoing> GroupRegistry::Join(const std::string& task, const GroupNote& note) {
  const std::string& member = note.words[1];
  int size = 0;
  if (!absl::SimpleAtoi(note.words[0], &size) || size <= 0 || size > kMaxMembers) {
    return {{task, GroupNote::Failure(note.group, 0, errors::InvalidArgument("A group of ", note.words[0]))}};
  }
  std::vector<Outgoing> out;
  MutexLock lock(mu_);
  DissolveOther(task, note, &out);
  if (joining_.size() >= kMaxGroups && !joining_.contains(note.group)) {
    const Status why = errors::ResourceExhausted("Too many collective groups are being formed");
    out.push_back({task, GroupNote::Failure(note.group, 0, why)});
    return out;
  }
  Joining& joining = joining_[note.group];
  if (joining.members.empty()) joining.size = size;
  if (joining.size != size) {
    const Status why = errors::Internal("Device ", member, " is joining group with size ", size,
                                        ", but that group has size ", joining.size, " (group_key=", note.group, ")");
    out.push_back({task, GroupNote::Failure(note.group, 0, why)});
    return out;
  }
  joining.members[member] = task;
  if (static_cast<int>(joining.members.size()) < size) return out;
  Form(note.group, joining, &out);
  joining_.erase(note.group);
  return out;
}

// Another program uses the key of a group that others are in: theirs ends.
void GroupRegistry::DissolveOther(const std::string& task, const GroupNote& note, std::vector<Outgoing>* out) {
  const auto formed = formed_.find(note.group);
  if (formed == formed_.end() || formed->second.members.contains(note.words[1])) return;
  const Status why =
      errors::Aborted("Group ", note.group, " is being re-formed: ", note.words[1], " of ", task, " joins it");
  for (const std::string& one : TasksOf(formed->second.members)) {
    out->push_back({one, GroupNote::Failure(note.group, formed->second.epoch, why)});
  }
  formed_.erase(formed);
}

void GroupRegistry::Form(const std::string& group, const Joining& joining, std::vector<Outgoing>* out) {
  GroupNote note = {GroupNote::kFormed, ++last_epoch_, group, {absl::StrCat(joining.size)}};
  for (const auto& [member, task] : joining.members) {
    note.words.push_back(member);
    note.words.push_back(task);
  }
  for (const std::string& one : TasksOf(joining.members)) out->push_back({one, note});
  if (formed_.size() >= kMaxGroups) formed_.clear();  // then groups end without a word if their key is used again
  formed_[group] = {note.epoch, joining.members};
}

void GroupRegistry::Leave(const std::string& task, const GroupNote& note) {
  MutexLock lock(mu_);
  const auto joining = joining_.find(note.group);
  if (joining == joining_.end()) return;
  const auto member = joining->second.members.find(note.words[0]);
  if (member == joining->second.members.end() || member->second != task) return;
  joining->second.members.erase(member);
  if (joining->second.members.empty()) joining_.erase(joining);
}

void GroupRegistry::TaskLost(const std::string& task) {
  MutexLock lock(mu_);
  for (auto it = joining_.begin(); it != joining_.end();) {
    std::erase_if(it->second.members, [&](const auto& member) { return member.second == task; });
    it = it->second.members.empty() ? joining_.erase(it) : std::next(it);
  }
}

bool GroupRegistry::HasJoined(const std::string& task, const std::string& group) {
  MutexLock lock(mu_);
  const auto joining = joining_.find(group);
  return joining != joining_.end() && std::any_of(joining->second.members.begin(), joining->second.members.end(),
                                                  [&](const auto& member) { return member.second == task; });
}

std::string GroupRegistry::MissingIn(const std::string& group) {
  std::set<std::string> here, jobs;
  int size = 0;
  {
    MutexLock lock(mu_);
    const auto joining = joining_.find(group);
    if (joining == joining_.end()) return "";
    here = TasksOf(joining->second.members);
    size = joining->second.size - static_cast<int>(joining->second.members.size());
  }
  for (const std::string& task : here) jobs.insert(JobOf(task));
  std::vector<std::string> others;
  for (const auto& [task, address] : addresses_) {
    if (here.contains(task) || !jobs.contains(JobOf(task))) continue;
    others.push_back(absl::StrCat(ShortTaskName(task), " at ", address));
  }
  if (others.empty()) return absl::StrCat(size, " members");
  return absl::StrCat(size, " of ", absl::StrJoin(others, ", "));
}

}  // namespace millstream
