// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_
#define MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_

#include <atomic>
#include <string>
#include <vector>

#include "millstream/distributed/server_options.h"
#include "millstream/runtime/job_member.h"

namespace millstream {

// A server's task as trainings of its process see it.
class JobMembership final : public JobMember {
 public:
  explicit JobMembership(const ServerOptions& options);
  bool has_ps() const override { return !ps_.empty(); }
  bool AnyPsAnswers() const override;
  bool JobIsDone() const override { return job_is_done_; }
  void TrainingBegins() override { ended_well_ = false; }
  void TrainingEnded() override { ended_well_ = true; }

  // What a ps has said of the job.
  void SetJobIsDone(bool done) { job_is_done_ = done; }
  // For a server that has stopped: if the last training ended well, tells the ps tasks that this task has left and, if
  // no other worker answers, that the job is done: they would wait for ever otherwise. Not if ps tasks are kept.
  void Leave(uint64_t incarnation) const;

 private:
  const std::string task_;
  const RpcChannelOptions channel_;
  std::vector<std::string> ps_, others_;  // addresses; constant after construction
  std::atomic<bool> ended_well_{false}, job_is_done_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_
