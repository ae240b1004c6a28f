// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_OP_HUB_H_
#define MILLSTREAM_COLLECTIVE_OP_HUB_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/timer_queue.h"
#include "millstream/collective/op_request.h"

namespace millstream::collective {

struct OpRound;

// An op that waits for the others of its collective.
struct OpEntry {
  OpRequest request;
  OpDone done;
  Cancellation::Token token = 0;
  TimerQueue::Id timer = 0;
  std::shared_ptr<OpRound> round;  // null before it has entered one, and when it is done
  Status cancelled;                // before it has entered
};

// One run of one collective: an entry for each member in this process. A graph that runs again, or a loop, begins
// another round of the same instance.
struct OpRound {
  struct Less {
    bool operator()(const std::string& a, const std::string& b) const { return MemberLess(a, b); }
  };
  std::string group, instance;
  OpKind kind;
  DType dtype;
  int members;                                                    // in this process
  std::map<std::string, std::shared_ptr<OpEntry>, Less> entries;  // by member
  bool submitted = false;                                         // complete here

  std::vector<const OpRequest*> requests() const;
};

// Where the collective ops of one task, or of a session of one process, meet. An op waits, without a thread, until all
// members of its group have entered the same instance; then all of them are run at once. Belongs to the task's
// resources. Thread-safe.
class OpHub : public Resource {
 public:
  // Its place among them; made when it is first needed.
  static constexpr char kContainer[] = "_collective", kName[] = "ops";

  // Calls `done` once, on any thread. Internal if the group's size or the instance's kind contradict members that wait
  // already, InvalidArgument if its type does; DeadlineExceeded after the request's timeout; the cancellation's status,
  // or Aborted if another member's request ends so.
  virtual void Run(OpRequest request, OpDone done) { Enter(std::move(request), std::move(done)); }
  // The user of requests is gone, and its address may be another's.
  virtual void ForgetUser(const void* /*user*/) {}
  std::string DebugString() const override { return "collective ops"; }

 protected:
  void Enter(OpRequest request, OpDone done);
  // How many members of a group are in this process. Until that is known its rounds do not become complete, unless all
  // groups are local.
  void SetLocalMembers(const std::string& group, int count);
  void ForgetLocalMembers(const std::string& group);
  // All members of the request's group are in this process.
  virtual bool IsLocal(const OpRequest& /*request*/) const { return true; }
  // All members in this process have entered. Without locks.
  virtual void Execute(std::shared_ptr<OpRound> round);
  // A round ends, by cancellation or timeout, before it has been run.
  virtual void Withdrawn(const OpRound& /*round*/, const Status& /*why*/) {}
  // Calls `answer` once, soon, with who is missing, for messages; "" if nobody knows. Without locks.
  using Answer = std::function<void(const std::string& missing)>;
  virtual void AskWhoIsMissing(const OpRound& /*round*/, const Answer& answer) { answer(""); }
  // The members of the round's group have met before.
  virtual bool HasMet(const OpRound& round);
  // An op of the group waits here.
  bool HasWaiting(const std::string& group);
  TimerQueue& timers() { return timers_; }
  // Ends a round that Execute() was called with; outputs in the order of its members.
  void Finish(OpRound& round, const Status& status, const std::vector<Tensor>& outputs);
  // Ends all rounds of a group.
  void FailGroup(const std::string& group, const Status& why);

 private:
  using Rounds = std::deque<std::shared_ptr<OpRound>>;
  struct Waiting {
    int group_size = 0;
    std::map<std::string, Rounds> instances;  // rounds that have not ended
  };
  StatusOr<std::shared_ptr<OpRound>> FindRound(const OpRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static bool BecomesComplete(OpRound& round);
  void Forget(const OpRound& round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(const std::shared_ptr<OpEntry>& entry, const Status& why, const Status& others);
  void SetTimer(const std::shared_ptr<OpEntry>& entry);
  void TimedOut(const std::shared_ptr<OpEntry>& entry);
  void Report(const std::shared_ptr<OpEntry>& entry, const std::string& missing);
  static void End(OpEntry& entry, TimerQueue& timers, const Status& status, Tensor output);

  Mutex mu_;
  std::map<std::string, Waiting> groups_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, int> local_members_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> met_ ABSL_GUARDED_BY(mu_);  // groups, with their sizes, of which a round was run
  TimerQueue timers_;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_OP_HUB_H_
