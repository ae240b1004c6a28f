// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/task_group.h"

#include "absl/strings/numbers.h"

namespace millstream {

namespace {

// While rounds may be held back, the thread looks this often; after some looks in vain it sleeps until it is woken.
constexpr auto kLookEvery = std::chrono::milliseconds(10);
constexpr int kLooks = 20;
constexpr char kSameBatch[] = "+";

}  // namespace

TaskGroup::TaskGroup(std::string name, uint64_t epoch, int size, GroupLayout layout, const std::string& own_task,
                     Callbacks callbacks, bool holds_back)
    : name_(std::move(name)),
      epoch_(epoch),
      size_(size),
      layout_(std::move(layout)),
      rank_(layout_.RankOf(own_task)),
      callbacks_(std::move(callbacks)),
      step_rounds_(holds_back),
      board_(name_, layout_.tasks) {}

void TaskGroup::Start() {
  if (layout_.tasks.size() <= 1) return;
  MutexLock lock(mu_);
  if (!stopping_) thread_ = std::thread([this] { Main(); });  // it may have failed already
}

TaskGroup::~TaskGroup() = default;

bool TaskGroup::HasLocal(const std::string& member) const {
  for (size_t i = 0; i < layout_.members.size(); ++i) {
    if (static_cast<int>(layout_.places[i].task) == rank_ && layout_.members[i] == member) return true;
  }
  return false;
}

void TaskGroup::Submit(std::shared_ptr<collective::OpRound> round) {
  MutexLock lock(mu_);
  rounds_[round->instance].push_back(round);
  Announce(step_rounds_.Add(std::move(round), StepRounds::Clock::now()));
  if (sleeps_ && step_rounds_.is_holding()) cv_.NotifyAll();
}

void TaskGroup::Announce(const StepRounds::Rounds& rounds) {
  if (rounds.empty()) return;
  std::vector<std::string> words;
  for (const std::shared_ptr<collective::OpRound>& round : rounds) {
    RoundPart part = RoundPart::Of(*round, layout_.members.size());
    if (rank_ == 0) {
      SetReady(0, round->instance, std::move(part));
      continue;
    }
    words.push_back(round->instance);
    for (std::string* word : {&part.what, &part.shape, &part.source_shape}) words.push_back(std::move(*word));
  }
  if (rank_ != 0) callbacks_.tell(first_task(), Note(GroupNote::kReady, std::move(words)));
  if (HasWork() || !broken_.ok()) cv_.NotifyAll();
}

void TaskGroup::Receive(const std::string& task, const GroupNote& note) {
  const int from = layout_.RankOf(task);
  if (from < 0) return;
  MutexLock lock(mu_);
  if (note.kind == GroupNote::kReady && rank_ == 0) {
    TakeReadiness(static_cast<size_t>(from), note);
  } else if (note.kind == GroupNote::kRun && from == 0) {
    TakeOrder(note);
  }
}

void TaskGroup::SetReady(size_t rank, const std::string& instance, RoundPart part) {
  if (!board_.SetReady(rank, instance, std::move(part))) {
    broken_.Update(errors::ResourceExhausted(layout_.tasks[rank], " has too many collectives open"));
  }
}

void TaskGroup::TakeReadiness(size_t rank, const GroupNote& note) {
  for (size_t i = 0; i < note.words.size(); i += GroupNote::kWordsPerReady) {
    const std::string* const words = &note.words[i];
    SetReady(rank, words[0], {words[1], words[2], words[3], 0, false});
  }
  if (HasWork() || !broken_.ok()) cv_.NotifyAll();
}

void TaskGroup::TakeOrder(const GroupNote& note) {
  for (size_t i = 0; i < note.words.size(); i += GroupNote::kWordsPerRun) {
    const std::string* const words = &note.words[i];
    RoundOrder order = {words[0], Status(StatusCodeFromWord(words[2]), words[3]), {0, words[5]}};
    if (!absl::SimpleAtoi(words[4], &order.plan.source_task) || order.plan.source_task >= layout_.tasks.size()) {
      broken_.Update(errors::InvalidArgument("A broadcast comes from a task that is not in the group"));
    }
    if (i == 0 || words[1] != kSameBatch) batches_.emplace_back();
    batches_.back().push_back(std::move(order));
  }
  cv_.NotifyAll();
}

// With the lock held, so that all tasks get the batches in the same order.
void TaskGroup::Decide() {
  std::vector<std::string> words;
  while (board_.has_complete()) {
    batches_.push_back(board_.TakeBatch());
    for (const RoundOrder& order : batches_.back()) {
      words.push_back(order.instance);
      words.emplace_back(&order == &batches_.back().front() ? "" : kSameBatch);
      words.push_back(absl::StrCat(static_cast<int>(order.error.code())));
      words.emplace_back(order.error.message());
      words.push_back(absl::StrCat(order.plan.source_task));
      words.push_back(order.plan.source_shape);
    }
  }
  for (size_t i = 1; i < layout_.tasks.size(); ++i) callbacks_.tell(layout_.tasks[i], Note(GroupNote::kRun, words));
}

std::string TaskGroup::MissingIn(const std::string& instance) {
  MutexLock lock(mu_);
  return board_.MissingIn(instance);
}

void TaskGroup::StopSoon() {
  MutexLock lock(mu_);
  stopping_ = true;
  cv_.NotifyAll();
}

Status TaskGroup::GivenUp() const {
  MutexLock lock(mu_);
  return stopping_ ? errors::Cancelled("The group has ended") : lost_;
}

void TaskGroup::Lose(const Status& why) {
  MutexLock lock(mu_);
  lost_.Update(why);
  cv_.NotifyAll();
}

void TaskGroup::End(const Status& why) {
  std::shared_ptr<collective::Group> group;
  std::thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    thread.swap(thread_);
    if (running_ || !rounds_.empty()) group = group_;  // else it leaves in peace, after its last collective
    cv_.NotifyAll();
  }
  if (group != nullptr) group->Abort(why);
  if (thread.joinable()) thread.join();
}

void TaskGroup::Main() {
  StatusOr<std::unique_ptr<collective::Group>> formed = callbacks_.form(*this);
  Status status = formed.status();
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    if (formed.ok()) group_ = *std::move(formed);
  }
  Batch batch;
  while (status.ok()) {
    if (!Next(&batch)) return;
    status = RunBatch(batch);
  }
  callbacks_.failed(status);
}

// Orders and reports come over the links of the group, too.
void TaskGroup::LetGroupRest() {
  std::shared_ptr<collective::Group> group;
  {
    MutexLock lock(mu_);
    if (batches_.empty() && !board_.has_complete()) group = group_;
  }
  if (group != nullptr) group->Rest();
}

// Or for an end. Announces what has been held back for too long.
void TaskGroup::AwaitWork() {
  const auto go_on = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stopping_ || !broken_.ok() || !lost_.ok() || HasWork();
  };
  for (int looks = 0; !go_on(); ++looks) {
    sleeps_ = !step_rounds_.is_holding() && (looks >= kLooks || !step_rounds_.holds_back());
    if (sleeps_) {
      cv_.Wait(mu_);
      looks = 0;
    } else {
      cv_.WaitUntil(mu_, StepRounds::Clock::now() + kLookEvery);
    }
    Announce(step_rounds_.TakeLate(StepRounds::Clock::now()));
  }
  sleeps_ = false;
}

bool TaskGroup::Next(Batch* batch) {
  Status broken;
  LetGroupRest();
  {
    MutexLock lock(mu_);
    running_ = false;
    AwaitWork();
    if (stopping_) return false;
    broken = broken_;
    if (broken.ok() && !HasWork()) broken = lost_;
    if (broken.ok()) {
      if (batches_.empty()) Decide();
      *batch = std::move(batches_.front());
      batches_.pop_front();
    }
    running_ = broken.ok();
  }
  if (broken.ok()) return true;
  callbacks_.failed(broken);
  return false;
}

StatusOr<TaskGroup::Rounds> TaskGroup::TakeRounds(const Batch& batch) {
  MutexLock lock(mu_);
  Rounds rounds;
  for (const RoundOrder& order : batch) {
    const auto waiting = rounds_.find(order.instance);
    if (waiting == rounds_.end()) return errors::Internal(first_task(), " runs an instance that is not ready here");
    rounds.push_back(std::move(waiting->second.front()));
    waiting->second.pop_front();
    if (waiting->second.empty()) rounds_.erase(waiting);
  }
  return rounds;
}

// An error of a round alone is everybody's, and is reported; what is returned ends the epoch.
Status TaskGroup::RunBatch(const Batch& batch) {
  std::shared_ptr<collective::Group> group;
  {
    MutexLock lock(mu_);
    group = group_;
  }
  ASSIGN_OR_RETURN(const Rounds rounds, TakeRounds(batch));
  if (!batch[0].error.ok()) {
    callbacks_.finish(*rounds[0], batch[0].error, {});
    return OkStatus();
  }
  for (const std::shared_ptr<collective::OpRound>& round : rounds) {
    const bool fits = round->kind == collective::OpKind::kReduce && round->dtype == rounds[0]->dtype &&
                      round->requests()[0]->op == rounds[0]->requests()[0]->op;
    if (rounds.size() > 1 && !fits) return errors::Internal(first_task(), " fuses collectives of different kinds");
  }
  std::vector<std::vector<Tensor>> outputs(rounds.size() == 1 ? 1 : 0);
  if (rounds.size() == 1) {
    RETURN_IF_ERROR(RunAcrossTasks(*group, layout_, *rounds[0], batch[0].plan, &outputs[0]));
  } else {
    RETURN_IF_ERROR(ReduceFused(*group, layout_, rounds, &outputs));
  }
  {
    MutexLock lock(mu_);
    running_ = false;  // the others have what they need: whose ops are done now may end this task
  }
  for (size_t i = 0; i < rounds.size(); ++i) callbacks_.finish(*rounds[i], OkStatus(), outputs[i]);
  return OkStatus();
}

}  // namespace millstream
