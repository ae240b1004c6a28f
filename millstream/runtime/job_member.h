// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_JOB_MEMBER_H_
#define MILLSTREAM_RUNTIME_JOB_MEMBER_H_

#include <functional>
#include <memory>
#include <string>

namespace millstream {

// A task of a cluster in this process, as trainings see it: it knows whether the job's parameter servers are there, and
// is told how training goes, so that they can end when the job is done. Servers offer it; training sessions find it by
// their target. Thread-safe.
class JobMember {
 public:
  virtual ~JobMember() = default;
  virtual bool has_ps() const = 0;
  // Whether one of the ps tasks can be reached. Takes a moment.
  virtual bool AnyPsAnswers() const = 0;
  // A training at this task begins; it has ended well. When the server stops after a training that ended well and no
  // other worker is left, it tells the ps tasks that the job is done.
  virtual void TrainingBegins() = 0;
  virtual void TrainingEnded() = 0;
};

// The one with that session target; null if this process has none.
std::shared_ptr<JobMember> FindJobMember(const std::string& target);
// Takes the place of an earlier one with the same target; null takes it away.
void SetJobMember(const std::string& target, std::shared_ptr<JobMember> member);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_JOB_MEMBER_H_
