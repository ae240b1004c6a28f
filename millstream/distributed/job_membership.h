// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_
#define MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_

#include <atomic>
#include <chrono>
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
  void TrainingBegins() override { ended_well_ = false; }
  void TrainingEnded() override { ended_well_ = true; }

  // For a server that has stopped: if the last training ended well and no other worker answers, tells the ps tasks that
  // the job is done, which would wait for ever otherwise. MILLSTREAM_KEEP_PS=1 keeps them.
  void EndPsTasksIfLast() const;

 private:
  const std::string task_;
  const RpcChannelOptions channel_;
  std::vector<std::string> ps_, others_;  // addresses; constant after construction
  std::atomic<bool> ended_well_{false};
};

// Tells the task at `address` that the job is done; OK if nobody answers there.
Status EndJobAt(const std::string& address, const std::string& reason, const RpcChannelOptions& options,
                std::chrono::milliseconds timeout = std::chrono::milliseconds(2000));

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_JOB_MEMBERSHIP_H_
