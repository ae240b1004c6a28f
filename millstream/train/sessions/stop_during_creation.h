// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_STOP_DURING_CREATION_H_
#define MILLSTREAM_TRAIN_SESSIONS_STOP_DURING_CREATION_H_

#include <thread>

#include "millstream/base/mutex.h"
#include "millstream/runtime/job_member.h"
#include "millstream/runtime/session.h"

namespace millstream {

// While hooks prepare a new session: if the task is told to stop, they get a second to end; then the session is closed,
// so that a step which waits for other tasks, and which began too late to be cancelled with those that ran, ends too.
class StopDuringCreation {
 public:
  // `job` may be null.
  StopDuringCreation(JobMember* job, Session& session);
  ~StopDuringCreation() { End(); }

  // True if the session has been closed. From now on it is not.
  bool End();

 private:
  void Watch();

  JobMember* const job_;
  Session& session_;
  Cancellation::Token token_ = 0;
  bool registered_ = false;
  Mutex mu_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false, ended_ ABSL_GUARDED_BY(mu_) = false, closed_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_STOP_DURING_CREATION_H_
