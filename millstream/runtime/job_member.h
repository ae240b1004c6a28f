// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_JOB_MEMBER_H_
#define MILLSTREAM_RUNTIME_JOB_MEMBER_H_

#include <functional>
#include <memory>
#include <string>

#include "millstream/base/cancellation.h"
#include "millstream/base/status.h"

namespace millstream {

// A task of a cluster in this process, as trainings see it: it knows whether the job's parameter servers are there, and
// is told how training goes, so that they can end when the job is done. Servers offer it (local_server.h). Thread-safe.
class JobMember {
 public:
  virtual ~JobMember() = default;
  virtual bool has_ps() const = 0;
  // Whether one of the ps tasks can be reached. Takes a moment.
  virtual bool AnyPsAnswers() const = 0;
  // Whether a ps said, when a session was last made, that the job is done: this task came too late, and the session
  // could not be made.
  virtual bool JobIsDone() const = 0;
  // A training at this task begins; it has ended well. A server that stops after a training that ended well tells the
  // ps tasks that this task has left and, if no other worker is there, that the job is done.
  virtual void TrainingBegins() = 0;
  virtual void TrainingEnded() = 0;
  // Cancelled when this task is told to stop, by a signal or by `millstream stop`. Trainings then end at the next step,
  // and save what they have; waits end at once with its status. Lives as long as the member.
  virtual Cancellation& stop() = 0;
};

// MILLSTREAM_KEEP_PS=1: ps tasks live on when a job is done, for the next one.
bool PsTasksAreKept();

// Tells the server at a session target that a client whose training there ended well has gone.
using LeaveFunction = std::function<Status(const std::string& target)>;
// For targets "<scheme>://...". Called before main().
void RegisterLeaveFunction(const std::string& scheme, LeaveFunction leave);

// A client that is no task of the cluster whose server it uses, as a member of the job: when its training has ended
// well, it tells that server, which ends the job if nobody else trains. Null if nothing is registered for the target.
std::shared_ptr<JobMember> OutsideClientOf(const std::string& target);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_JOB_MEMBER_H_
