// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_LOCAL_SERVER_H_
#define MILLSTREAM_RUNTIME_LOCAL_SERVER_H_

#include <memory>

#include "millstream/runtime/job_member.h"
#include "millstream/runtime/session.h"

namespace millstream {

// A server of this process, as sessions and trainings see it: they are given it with their options
// (Server::session_options()) and reach it without the network. Thread-safe.
class LocalServer {
 public:
  virtual ~LocalServer() = default;
  // A session at the server's master. FailedPrecondition once the server was stopped; one that stops later must outlive
  // the session.
  virtual StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options) = 0;
  // The server's task as a member of its job. Lives on when the server is gone.
  virtual std::shared_ptr<JobMember> job() const = 0;
};

// This process as a member of the job at whose server a session with these options runs: as its task, if the server is
// in this process, else as a client from outside. Null for sessions without a server.
inline std::shared_ptr<JobMember> JobOf(const SessionOptions& options) {
  return options.server == nullptr ? OutsideClientOf(options.target) : options.server->job();
}

// True if that task was told to stop.
inline bool IsStopping(const SessionOptions& options) {
  const std::shared_ptr<JobMember> job = JobOf(options);
  return job != nullptr && job->stop().IsCancelled();
}

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_LOCAL_SERVER_H_
