// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/op_hub.h"

#include <algorithm>
#include <climits>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"

namespace millstream::collective {
namespace {

using std::chrono::steady_clock;

constexpr auto kTellEvery = std::chrono::seconds(30);
constexpr size_t kMaxMet = 4096;

// A group of another size is another group, which has not met before.
std::string GroupAndSize(const OpRound& round) {
  return absl::StrCat(round.group, " of ", round.entries.begin()->second->request.group_size);
}

// What members of one round must agree on. TensorFlow's words.
Status CheckFits(const OpRequest& request, const OpRound& round) {
  if (round.kind == request.kind && round.dtype == request.dtype) return OkStatus();
  const std::string what =
      absl::StrCat("Collective instance ", request.instance, " expected type ", static_cast<int>(round.kind),
                   " and data_type ", static_cast<int>(round.dtype), " but got type ", static_cast<int>(request.kind),
                   " and data_type ", static_cast<int>(request.dtype), ": ", round.entries.begin()->first, " runs ",
                   OpKindName(round.kind), " of ", DTypeName(round.dtype), ", ", request.member, " runs ",
                   OpKindName(request.kind), " of ", DTypeName(request.dtype));
  return round.kind != request.kind ? errors::Internal(what) : errors::InvalidArgument(what);
}

}  // namespace

std::vector<const OpRequest*> OpRound::requests() const {
  std::vector<const OpRequest*> requests;
  for (const auto& [member, entry] : entries) requests.push_back(&entry->request);
  return requests;
}

// The first round of the instance that waits for this member.
StatusOr<std::shared_ptr<OpRound>> OpHub::FindRound(const OpRequest& request) {
  Waiting& waiting = groups_[request.group];
  if (waiting.instances.empty()) waiting.group_size = request.group_size;
  if (waiting.group_size != request.group_size) {
    return errors::Internal("Device ", request.member, " is joining group with size ", request.group_size,
                            ", but that group has size ", waiting.group_size, " (group_key=", request.group, ")");
  }
  Rounds& rounds = waiting.instances[request.instance];
  for (const std::shared_ptr<OpRound>& round : rounds) {
    if (round->submitted || round->entries.contains(request.member)) continue;
    RETURN_IF_ERROR(CheckFits(request, *round));
    return round;
  }
  auto round = std::make_shared<OpRound>();
  round->group = request.group;
  round->instance = request.instance;
  round->kind = request.kind;
  round->dtype = request.dtype;
  const auto known = local_members_.find(request.group);
  round->members = IsLocal(request) ? request.group_size : known == local_members_.end() ? INT_MAX : known->second;
  rounds.push_back(round);
  return round;
}

void OpHub::Forget(const OpRound& round) {
  const auto group = groups_.find(round.group);
  if (group == groups_.end()) return;
  const auto instance = group->second.instances.find(round.instance);
  if (instance == group->second.instances.end()) return;
  Rounds& rounds = instance->second;
  rounds.erase(std::remove_if(rounds.begin(), rounds.end(), [&](const auto& one) { return one.get() == &round; }),
               rounds.end());
  if (rounds.empty()) group->second.instances.erase(instance);
  if (group->second.instances.empty()) groups_.erase(group);
}

bool OpHub::BecomesComplete(OpRound& round) {
  if (round.submitted || static_cast<int>(round.entries.size()) < round.members) return false;
  return round.submitted = true;
}

void OpHub::SetLocalMembers(const std::string& group, int count) {
  std::vector<std::shared_ptr<OpRound>> complete;
  {
    MutexLock lock(mu_);
    local_members_[group] = count;
    const auto found = groups_.find(group);
    if (found == groups_.end()) return;
    for (auto& [instance, rounds] : found->second.instances) {
      for (const std::shared_ptr<OpRound>& round : rounds) {
        round->members = count;
        if (BecomesComplete(*round)) complete.push_back(round);
      }
    }
  }
  for (std::shared_ptr<OpRound>& round : complete) Execute(std::move(round));
}

void OpHub::ForgetLocalMembers(const std::string& group) {
  MutexLock lock(mu_);
  local_members_.erase(group);
}

void OpHub::Enter(OpRequest request, OpDone done) {
  auto entry = std::make_shared<OpEntry>();
  entry->request = std::move(request);
  entry->done = std::move(done);
  if (Cancellation* const cancellation = entry->request.cancellation; cancellation != nullptr) {
    const bool registered = cancellation->Register(
        [self = Ref<OpHub>::Share(this), entry, cancellation] {
          self->Cancel(entry, cancellation->status(),
                       errors::Aborted("Another member of the collective was cancelled"));
        },
        &entry->token);
    if (!registered) return entry->done(cancellation->status(), Tensor());
  }
  std::shared_ptr<OpRound> complete;
  Status status;
  {
    MutexLock lock(mu_);
    status = entry->cancelled;
    if (status.ok()) {
      StatusOr<std::shared_ptr<OpRound>> round = FindRound(entry->request);
      status = round.status();
      if (status.ok()) {
        entry->round = *round;
        (*round)->entries[entry->request.member] = entry;
        if (BecomesComplete(**round)) complete = *round;
        SetTimer(entry);
      }
    }
  }
  if (!status.ok()) return End(*entry, timers_, status, Tensor());
  if (complete != nullptr) Execute(std::move(complete));
}

void OpHub::End(OpEntry& entry, TimerQueue& timers, const Status& status, Tensor output) {
  if (entry.timer != 0) timers.Cancel(entry.timer, /*wait=*/false);
  if (entry.request.cancellation != nullptr) entry.request.cancellation->TryDeregister(entry.token);
  entry.done(status, std::move(output));
}

void OpHub::Execute(std::shared_ptr<OpRound> round) {
  std::vector<Tensor> outputs;
  const Status status = RunLocally(round->requests(), &outputs);
  Finish(*round, status, outputs);
}

void OpHub::Finish(OpRound& round, const Status& status, const std::vector<Tensor>& outputs) {
  std::vector<std::shared_ptr<OpEntry>> entries;
  {
    MutexLock lock(mu_);
    for (auto& [member, entry] : round.entries) {
      if (std::exchange(entry->round, nullptr) != nullptr) entries.push_back(entry);
    }
    Forget(round);
    if (met_.size() >= kMaxMet) met_.clear();
    met_.insert(GroupAndSize(round));
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    End(*entries[i], timers_, status, status.ok() ? outputs[i] : Tensor());
  }
}

void OpHub::Cancel(const std::shared_ptr<OpEntry>& entry, const Status& why, const Status& others) {
  std::shared_ptr<OpRound> round;
  std::vector<std::shared_ptr<OpEntry>> entries;
  {
    MutexLock lock(mu_);
    round = entry->round;
    if (round == nullptr) {
      entry->cancelled = why;
      return;
    }
    for (auto& [member, one] : round->entries) {
      if (std::exchange(one->round, nullptr) != nullptr) entries.push_back(one);
    }
    Forget(*round);
  }
  Withdrawn(*round, why);
  for (const std::shared_ptr<OpEntry>& one : entries) End(*one, timers_, one == entry ? why : others, Tensor());
}

void OpHub::FailGroup(const std::string& group, const Status& why) {
  std::vector<std::shared_ptr<OpEntry>> entries;
  {
    MutexLock lock(mu_);
    const auto found = groups_.find(group);
    if (found == groups_.end()) return;
    for (auto& [instance, rounds] : found->second.instances) {
      for (const std::shared_ptr<OpRound>& round : rounds) {
        for (auto& [member, entry] : round->entries) {
          if (std::exchange(entry->round, nullptr) != nullptr) entries.push_back(entry);
        }
      }
    }
    groups_.erase(found);
  }
  for (const std::shared_ptr<OpEntry>& entry : entries) End(*entry, timers_, why, Tensor());
}

// Ops with a timeout fail at its end, the others say what they wait for.
void OpHub::SetTimer(const std::shared_ptr<OpEntry>& entry) {
  const double timeout = entry->request.timeout_seconds;
  const auto wait =
      timeout > 0
          ? std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(std::min(timeout, 1e8)))
          : steady_clock::duration(kTellEvery);
  entry->timer = timers_.Add(steady_clock::now() + wait, [this, weak = std::weak_ptr<OpEntry>(entry)] {
    if (const std::shared_ptr<OpEntry> late = weak.lock()) TimedOut(late);
  });
}

bool OpHub::HasMet(const OpRound& round) {
  MutexLock lock(mu_);
  return met_.contains(GroupAndSize(round));
}

bool OpHub::HasWaiting(const std::string& group) {
  MutexLock lock(mu_);
  return groups_.contains(group);
}

void OpHub::TimedOut(const std::shared_ptr<OpEntry>& entry) {
  std::shared_ptr<OpRound> round;
  {
    MutexLock lock(mu_);
    round = entry->round;
    if (round == nullptr) return;
    if (entry->request.timeout_seconds <= 0) SetTimer(entry);
  }
  // No reference to the hub: the thread of its timers must not be the one that destroys it.
  AskWhoIsMissing(*round, [this, entry](const std::string& missing) { Report(entry, missing); });
}

void OpHub::Report(const std::shared_ptr<OpEntry>& entry, const std::string& missing) {
  std::string progress;
  std::shared_ptr<OpRound> round;
  {
    MutexLock lock(mu_);
    round = entry->round;
    if (round == nullptr) return;
    std::vector<std::string> present;
    for (const auto& [member, one] : round->entries) present.push_back(member);
    progress = absl::StrCat(OpKindName(round->kind), " with instance key ", round->instance, " of group ", round->group,
                            " of ", entry->request.group_size, "; entered here: ", absl::StrJoin(present, ", "),
                            missing.empty() ? "" : "; not yet: ", missing);
  }
  const double timeout = entry->request.timeout_seconds;
  if (timeout <= 0) {
    LogWarning(absl::StrCat("Waiting for other members of a collective (", progress, ")"));
    return;
  }
  const Status why = errors::DeadlineExceeded("Collective has timed out ",
                                              HasMet(*round) ? "during execution" : "waiting for other workers",
                                              " for ", timeout, " s (", progress, ")");
  Cancel(entry, why, why);
}

}  // namespace millstream::collective
