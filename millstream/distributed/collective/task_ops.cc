// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/task_ops.h"

#include <thread>

#include "millstream/base/logging.h"

namespace millstream {

namespace {

// All tasks are ready when a collective begins, so that only its data take time.
constexpr auto kTimeout = std::chrono::minutes(10);
// How long a message about a late member waits for the task that knows its name.
constexpr auto kAskPatience = std::chrono::seconds(2);
// How long a group's leader and its members try to reach each other: tasks start, and start again, one after the other.
constexpr auto kReachPatience = std::chrono::seconds(10);

std::string ChooseLeader(const TaskOpsOptions& options) {
  if (!options.leader.empty()) return options.leader;
  for (const char* job : {"chief", "master", "worker"}) {
    const std::string task = absl::StrCat("/job:", job, "/replica:0/task:0");
    if (options.addresses.contains(task)) return task;
  }
  return options.addresses.empty() ? options.task : options.addresses.begin()->first;
}

// The pool's one thread runs it, in order.
void Schedule(std::unique_ptr<ThreadPool>* pool, std::function<void()> work) {
  if (*pool == nullptr) *pool = std::make_unique<ThreadPool>(1);
  (*pool)->Schedule(std::move(work));
}

}  // namespace

TaskOps::TaskOps(TaskOpsOptions options)
    : options_(std::move(options)), registry_(options_.addresses), leader_(ChooseLeader(options_)) {}

Status TaskOps::SetLeader(const std::string& task) {
  if (!options_.addresses.contains(task)) {
    return errors::InvalidArgument("The leader of collective groups: the cluster has no task ", task);
  }
  MutexLock lock(mu_);
  leader_ = task;
  return OkStatus();
}

std::string TaskOps::leader() {
  MutexLock lock(mu_);
  return leader_;
}

TaskOps::~TaskOps() { Stop(errors::Cancelled("The task has ended")); }

void TaskOps::Stop(const Status& why) {
  std::map<std::string, Known> known;
  std::map<std::string, Route> routes;
  std::map<std::string, Answer> questions;
  std::unique_ptr<ThreadPool> connecting, ending;  // run what they have when they go
  {
    MutexLock lock(mu_);
    stopped_ = true;
    known.swap(known_);
    routes.swap(routes_);
    questions.swap(questions_);
    connecting.swap(connecting_);
  }
  for (auto& [name, one] : known) {
    FailGroup(name, why);
    if (one.group != nullptr) one.group->End(why);
  }
  connecting.reset();
  {
    MutexLock lock(mu_);
    ending.swap(ending_);
  }
  ending.reset();
}

void TaskOps::Tell(const std::string& task, GroupNote note) {
  if (task == options_.task) return Handle(task, note);
  MutexLock lock(mu_);
  if (stopped_) return;
  Route& route = routes_[task];
  if (route.link != nullptr && route.posted == 0) return route.link->Send(note.ToFrame());
  ++route.posted;
  Schedule(&connecting_, [this, task, note = std::move(note)] { ConnectAndTell(task, note); });
}

void TaskOps::ConnectAndTell(const std::string& task, const GroupNote& note) {
  {
    MutexLock lock(mu_);
    if (stopped_) return;
  }
  const bool forms_group = note.kind == GroupNote::kJoin || note.kind == GroupNote::kFormed;
  const StatusOr<std::shared_ptr<PeerLink>> link = Reach(task, forms_group);
  if (link.ok()) (*link)->Send(note.ToFrame());
  {
    MutexLock lock(mu_);
    Route& route = routes_[task];
    --route.posted;
    route.link = link.ok() ? *link : nullptr;
  }
  if (link.ok()) return;
  // A task that does not answer in time is an outage like any other, after which sessions begin anew.
  const std::string why = absl::StrCat("Cannot reach ", task, ": ", link.status().message());
  Undelivered(note,
              absl::IsDeadlineExceeded(link.status()) ? errors::Unavailable(why) : Status(link.status().code(), why));
}

StatusOr<std::shared_ptr<PeerLink>> TaskOps::Reach(const std::string& task, bool patiently) {
  const auto give_up = std::chrono::steady_clock::now() + kReachPatience;
  auto pause = std::chrono::milliseconds(20);
  for (;;) {
    StatusOr<std::shared_ptr<PeerLink>> link = options_.connect(task);
    const bool may_come = absl::IsUnavailable(link.status()) || absl::IsDeadlineExceeded(link.status());
    if (link.ok() || !patiently || !may_come || std::chrono::steady_clock::now() >= give_up) return link;
    {
      MutexLock lock(mu_);
      if (stopped_) return link;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(500));
  }
}

void TaskOps::Undelivered(const GroupNote& note, const Status& why) {
  LogWarning(absl::StrCat("Collective group ", note.group, ": ", why.message()));
  if (note.kind == GroupNote::kFormed) {  // the others wait for the one that was not told
    const GroupLayout layout = GroupLayout::Of({note.words.begin() + 1, note.words.end()});
    for (const std::string& task : layout.tasks) Tell(task, GroupNote::Failure(note.group, note.epoch, why));
    return;
  }
  Fail(note.group, note.epoch, why, /*tell=*/true);
}

void TaskOps::AnswerOn(PeerLink& link) {
  MutexLock lock(mu_);
  Route& route = routes_[link.peer()];
  if (route.posted == 0) route.link = link.shared_from_this();
}

void TaskOps::Run(collective::OpRequest request, collective::OpDone done) {
  if (IsLocal(request)) return Enter(std::move(request), std::move(done));
  Status status = CheckEpoch(request);
  if (status.ok()) status = Register(request);
  if (!status.ok()) return done(status, Tensor());
  const std::string group = request.group;
  const std::pair<const void*, std::string> user(request.user, group);
  Enter(std::move(request), [this, user, done = std::move(done)](const Status& end, Tensor output) {
    if (user.first != nullptr) SetEpoch(user, end.ok());
    done(end, std::move(output));
  });
  bool lost;
  {
    MutexLock lock(mu_);
    lost = !known_.contains(group);
  }
  if (lost) FailGroup(group, errors::Unavailable("Collective group ", group, " has failed"));  // before it was entered
}

Status TaskOps::CheckEpoch(const collective::OpRequest& request) {
  MutexLock lock(mu_);
  const auto used = used_.find({request.user, request.group});
  if (used == used_.end()) return OkStatus();
  const auto known = known_.find(request.group);
  if (known != known_.end() && known->second.group != nullptr && known->second.group->epoch() == used->second) {
    return OkStatus();
  }
  used_.erase(used);
  const auto failure = failures_.find(request.group);
  return errors::Aborted("Collective group ", request.group, " has failed since this session used it last",
                         failure == failures_.end() ? "" : ": ", failure == failures_.end() ? "" : failure->second);
}

void TaskOps::SetEpoch(const std::pair<const void*, std::string>& user, bool ended_well) {
  MutexLock lock(mu_);
  const auto known = known_.find(user.second);
  const bool formed = known != known_.end() && known->second.group != nullptr;
  if (!ended_well) {
    used_.erase(user);
  } else if (formed) {
    used_[user] = known->second.group->epoch();
  }
}

void TaskOps::ForgetUser(const void* user) {
  MutexLock lock(mu_);
  std::erase_if(used_, [&](const auto& one) { return one.first.first == user; });
}

// Tells the leader of a member that it does not know yet.
Status TaskOps::Register(const collective::OpRequest& request) {
  std::shared_ptr<TaskGroup> outdated;
  {
    MutexLock lock(mu_);
    if (stopped_) return errors::Cancelled("The task is shutting down");
    Known& known = known_[request.group];
    if (known.group != nullptr && (known.size != request.group_size || !known.group->HasLocal(request.member))) {
      outdated = std::move(known.group);  // another program uses the key
      known = {};
    }
    if (known.registered.empty()) known.size = request.group_size;
    if (known.size != request.group_size) {
      return errors::Internal("Device ", request.member, " is joining group with size ", request.group_size,
                              ", but that group has size ", known.size, " (group_key=", request.group, ")");
    }
    if (!known.registered.insert(request.member).second) return OkStatus();
  }
  if (outdated != nullptr) {
    Retire(std::move(outdated), errors::Aborted("The group is being re-formed"));
    ForgetLocalMembers(request.group);
  }
  Tell(leader(), {GroupNote::kJoin, 0, request.group, {absl::StrCat(request.group_size), request.member}});
  return OkStatus();
}

// Nobody waits for a group that was not formed: it may be formed with others.
void TaskOps::Unregister(const std::string& group) {
  std::set<std::string> members;
  {
    MutexLock lock(mu_);
    const auto known = known_.find(group);
    if (known == known_.end() || known->second.group != nullptr) return;
    members.swap(known->second.registered);
    known_.erase(known);
  }
  for (const std::string& member : members) Tell(leader(), {GroupNote::kLeave, 0, group, {member}});
}

void TaskOps::Execute(std::shared_ptr<collective::OpRound> round) {
  std::shared_ptr<TaskGroup> group;
  const bool local = IsLocal(*round->requests()[0]);
  if (!local) group = Find(round->group, 0);
  if (local || (group != nullptr && group->layout().tasks.size() == 1)) return OpHub::Execute(std::move(round));
  if (group == nullptr) return Finish(*round, errors::Aborted("The group is being re-formed"), {});
  group->Submit(std::move(round));
}

void TaskOps::Withdrawn(const collective::OpRound& round, const Status& why) {
  const std::shared_ptr<TaskGroup> group = Find(round.group, 0);
  if (group == nullptr) {
    if (!HasWaiting(round.group)) Unregister(round.group);
    return;
  }
  if (!round.submitted || group->layout().tasks.size() == 1) return;
  Fail(round.group, group->epoch(), errors::Aborted(options_.task, " has left a collective: ", why.message()), true);
}

bool TaskOps::HasMet(const collective::OpRound& round) {
  return OpHub::HasMet(round) || Find(round.group, 0) != nullptr;
}

// The first task of a group knows who has entered its rounds, the leader who has joined groups that are not formed.
void TaskOps::AskWhoIsMissing(const collective::OpRound& round, const Answer& answer) {
  if (round.entries.empty() || IsLocal(*round.requests()[0])) return answer("");
  const std::shared_ptr<TaskGroup> group = Find(round.group, 0);
  const std::string who = group == nullptr ? leader() : group->first_task();
  if (who == options_.task) {
    return answer(group == nullptr ? registry_.MissingIn(round.group) : group->MissingIn(round.instance));
  }
  std::string question;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    question = absl::StrCat(++last_question_);
    questions_[question] = answer;
  }
  timers().Add(std::chrono::steady_clock::now() + kAskPatience, [this, question, who] {
    Answered(question, absl::StrCat("(", who, ", the coordinator, does not answer)"));
  });
  Tell(who, {GroupNote::kAsk, group == nullptr ? 0 : group->epoch(), round.group, {question, round.instance}});
}

void TaskOps::AnswerAsk(const std::string& task, const GroupNote& note) {
  const std::shared_ptr<TaskGroup> group = note.epoch == 0 ? nullptr : Find(note.group, note.epoch);
  const bool waits_in_vain = note.epoch == 0 ? !registry_.HasJoined(task, note.group) : group == nullptr;
  if (waits_in_vain && task != options_.task) {
    // A note was lost with a link: that it joins, or that its group has ended. It begins anew. Where the group that it
    // joined was formed meanwhile, this means nothing.
    const Status why = errors::Aborted("Group ", note.group, " is being re-formed: ", options_.task,
                                       " did not know that ", task, " waits for it");
    return Tell(task, GroupNote::Failure(note.group, note.epoch, why));
  }
  const std::string missing = group == nullptr ? registry_.MissingIn(note.group) : group->MissingIn(note.words[1]);
  Tell(task, {GroupNote::kMissing, note.epoch, note.group, {note.words[0], missing}});
}

void TaskOps::Answered(const std::string& question, const std::string& missing) {
  Answer answer;
  {
    MutexLock lock(mu_);
    const auto found = questions_.find(question);
    if (found == questions_.end()) return;
    answer = std::move(found->second);
    questions_.erase(found);
  }
  answer(missing);
}

std::shared_ptr<TaskGroup> TaskOps::Find(const std::string& name, uint64_t epoch) {
  MutexLock lock(mu_);
  const auto known = known_.find(name);
  if (known == known_.end() || known->second.group == nullptr) return nullptr;
  return epoch == 0 || known->second.group->epoch() == epoch ? known->second.group : nullptr;
}

void TaskOps::Retire(std::shared_ptr<TaskGroup> group, const Status& why) {
  group->StopSoon();
  MutexLock lock(mu_);
  Schedule(&ending_, [group = std::move(group), why] { group->End(why); });
}

void TaskOps::Fail(const std::string& name, uint64_t epoch, const Status& why, bool tell) {
  std::shared_ptr<TaskGroup> group;
  {
    MutexLock lock(mu_);
    const auto known = known_.find(name);
    if (known == known_.end()) return;
    group = known->second.group;
    if ((group == nullptr ? 0 : group->epoch()) != epoch) return;
    known_.erase(known);
    failures_[name] = std::string(why.message());
  }
  ForgetLocalMembers(name);
  if (group != nullptr) Retire(group, why);
  if (group != nullptr && tell) {
    for (const std::string& task : group->layout().tasks) {
      if (task != options_.task) Tell(task, GroupNote::Failure(name, epoch, why));
    }
  }
  FailGroup(name, why);
}

StatusOr<std::unique_ptr<collective::Group>> TaskOps::FormGroup(const TaskGroup& group) {
  const std::vector<std::string>& tasks = group.layout().tasks;
  const std::string name = absl::StrCat("group ", group.name());
  const collective::FrameExchange::JoinOptions join = {options_.connect, std::chrono::steady_clock::now() + kTimeout,
                                                       [&group] { return group.GivenUp(); }};
  ASSIGN_OR_RETURN(auto transport, exchange_.Join(collective::FrameExchange::Key(name, group.epoch(), tasks), tasks,
                                                  group.rank(), join));
  std::vector<collective::Member> members;
  for (const std::string& task : tasks) {
    const auto address = options_.addresses.find(task);
    const std::string at = address == options_.addresses.end() ? "" : address->second;
    members.push_back({ShortTaskName(task), at, at.empty() ? task : HostOf(at)});
  }
  collective::GroupOptions options;
  options.name = group.name();
  options.epoch = group.epoch();
  options.timeout = kTimeout;
  ASSIGN_OR_RETURN(std::unique_ptr<collective::Group> formed,
                   collective::Group::Make(std::move(members), group.rank(), std::move(transport), options));
  if (!options_.backend.empty()) RETURN_IF_ERROR(formed->UseBackend(options_.backend));
  return formed;
}

}  // namespace millstream
