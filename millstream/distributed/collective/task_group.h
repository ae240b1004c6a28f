// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_TASK_GROUP_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_TASK_GROUP_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/collective/group_layout.h"
#include "millstream/distributed/collective/group_note.h"
#include "millstream/distributed/collective/round_board.h"
#include "millstream/distributed/collective/step_rounds.h"

namespace millstream {

// One epoch of a group of collective ops whose members are in several tasks, as one of those tasks sees it. Graphs run
// their collectives in any order, and each task in another; so tasks tell the first one of them what is complete there,
// and it decides what all of them run next. A thread of the group runs it. Thread-safe.
class TaskGroup {
 public:
  struct Callbacks {
    // Connects the tasks; may block.
    std::function<StatusOr<std::unique_ptr<collective::Group>>(const TaskGroup& group)> form;
    // Tells another task something. Never blocks; notes to one task keep their order.
    std::function<void(const std::string& task, GroupNote note)> tell;
    std::function<void(collective::OpRound& round, const Status& status, const std::vector<Tensor>& outputs)> finish;
    // The epoch has ended with an error, on the thread of the group.
    std::function<void(const Status& why)> failed;
  };
  // `holds_back`: the reductions of a step wait for each other (step_rounds.h).
  TaskGroup(std::string name, uint64_t epoch, int size, GroupLayout layout, const std::string& own_task,
            Callbacks callbacks, bool holds_back = false);
  ~TaskGroup();  // REQUIRES: End() was called, if Start() was
  // Connects the tasks, and runs what they are ready for. Once.
  void Start();

  const std::string& name() const { return name_; }
  uint64_t epoch() const { return epoch_; }
  int size() const { return size_; }  // members
  const GroupLayout& layout() const { return layout_; }
  int rank() const { return rank_; }
  const std::string& first_task() const { return layout_.tasks[0]; }
  int local_members() const { return static_cast<int>(layout_.members_of[static_cast<size_t>(rank_)]); }
  bool HasLocal(const std::string& member) const;

  // All members in this task have entered the round.
  void Submit(std::shared_ptr<collective::OpRound> round);
  // A note from another task of the group.
  void Receive(const std::string& task, const GroupNote& note);
  // Why the tasks need no longer be connected; OK: they are.
  Status GivenUp() const;
  // A task of the group is gone. What it has taken part in is still completed; then the epoch ends.
  void Lose(const Status& why);
  // Nothing more is begun.
  void StopSoon();
  // What runs is aborted, and the thread has ended when this returns. Once; not for I/O threads.
  void End(const Status& why);
  // Tasks that have not entered the instance. Only the first task knows.
  std::string MissingIn(const std::string& instance);

 private:
  using Batch = std::vector<RoundOrder>;
  using Rounds = std::vector<std::shared_ptr<collective::OpRound>>;
  GroupNote Note(GroupNote::Kind kind, std::vector<std::string> words) const {
    return {kind, epoch_, name_, std::move(words)};
  }
  // Tells the first task that this one is ready for these.
  void Announce(const StepRounds::Rounds& rounds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetReady(size_t rank, const std::string& instance, RoundPart part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeReadiness(size_t rank, const GroupNote& note) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeOrder(const GroupNote& note) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What all tasks are ready for becomes batches, here and at the others. Of the first task.
  void Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AwaitWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !batches_.empty() || board_.has_complete(); }
  void Main();
  void LetGroupRest();
  // Waits for what is to be run. False: nothing more is.
  bool Next(Batch* batch);
  StatusOr<Rounds> TakeRounds(const Batch& batch);
  Status RunBatch(const Batch& batch);

  const std::string name_;
  const uint64_t epoch_;
  const int size_;
  const GroupLayout layout_;
  const int rank_;
  const Callbacks callbacks_;

  mutable Mutex mu_;
  CondVar cv_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool running_ ABSL_GUARDED_BY(mu_) = false;                                                            // a batch
  std::map<std::string, std::deque<std::shared_ptr<collective::OpRound>>> rounds_ ABSL_GUARDED_BY(mu_);  // by instance
  StepRounds step_rounds_ ABSL_GUARDED_BY(mu_);
  bool sleeps_ ABSL_GUARDED_BY(mu_) = false;  // the thread does not look at step_rounds_ by itself
  RoundBoard board_ ABSL_GUARDED_BY(mu_);     // of the first task
  std::deque<Batch> batches_ ABSL_GUARDED_BY(mu_);
  Status lost_ ABSL_GUARDED_BY(mu_);    // why no more can come
  Status broken_ ABSL_GUARDED_BY(mu_);  // a task breaks the protocol
  std::shared_ptr<collective::Group> group_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_TASK_GROUP_H_
