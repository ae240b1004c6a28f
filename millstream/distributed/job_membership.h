// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_
#define MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "millstream/distributed/server_options.h"
#include "millstream/runtime/job_member.h"

namespace millstream {

// A server's task as trainings of its process see it.
class JobMembership final : public JobMember {
 public:
  explicit JobMembership(const ServerOptions& options);
  bool has_ps() const override { return !is_ps_ && !ps_.empty(); }
  bool AnyPsAnswers() const override;
  bool JobIsDone() const override { return job_is_done_; }
  void TrainingBegins() override { ended_well_ = false; }
  void TrainingEnded() override { ended_well_ = true; }
  Cancellation& stop() override { return stop_; }

  // What a ps has said of the job.
  void SetJobIsDone(bool done) { job_is_done_ = done; }
  // The program ended well after it has run steps in plain sessions at this task. That counts as the end of a training
  // if no other task has a client of its own: all others are there and only serve.
  void ClientEnded() { client_ended_ = true; }

  // For a server that has stopped: if the last training ended well, tells the ps tasks that this task has left and, if
  // no other worker trains, all tasks that the job is done: they would wait for ever otherwise. Not if ps tasks are
  // kept.
  void Leave(uint64_t incarnation) const;
  // A worker that only serves.
  struct Serving {
    std::string task, address;
    uint64_t incarnation = 0;
  };
  // For a task that only serves, whose client has ended well: tells the others that it leaves and that the job is done,
  // and returns the workers among them; none if another task trains, or ps tasks are kept.
  std::optional<std::vector<Serving>> EndForClient(uint64_t incarnation) const;

 private:
  // The other workers, as they answer.
  struct Others {
    bool all_there = true;
    bool any_trains = false;  // or does not answer
    std::vector<Serving> serving;
  };
  Others AskOthers() const;
  void TellDone(const Others& others, const std::string& reason) const;
  // Tells the ps tasks that this task makes no more steps.
  void TellLeft(uint64_t incarnation) const;

  const std::string task_;
  const RpcChannelOptions channel_;
  const bool is_ps_;
  std::vector<ClusterSpec::Task> ps_, others_;  // without this task; constant after construction
  std::atomic<bool> ended_well_{false}, client_ended_{false}, job_is_done_{false};
  Cancellation stop_;
};

// Tells the server at a session target ("grpc://host:port") that a client whose training there ended well has gone.
Status LeaveAsClient(const std::string& target);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_
