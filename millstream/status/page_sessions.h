// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_PAGE_SESSIONS_H_
#define MILLSTREAM_STATUS_PAGE_SESSIONS_H_

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/distributed/trust/token_proof.h"

namespace millstream {

// The browsers and programs that have proven to the status page that they know the job token or a role's. The proof is
// that of trust/token_proof.h; since each HTTP request has a connection of its own, the two halves of it are joined by
// a random id, and what follows by a random secret in a cookie. Numbers are bounded: the oldest goes. Thread-safe.
class PageSessions {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxPending = 32, kMaxSessions = 64;
  static constexpr std::chrono::seconds kPendingTime{30};
  static constexpr std::chrono::hours kSessionTime{12};  // since the last request

  explicit PageSessions(std::string job_token) : job_token_(std::move(job_token)) {}

  struct Challenge {
    std::string id, challenge;
  };
  StatusOr<Challenge> Begin(absl::string_view hello, ServerIdentity identity, Clock::time_point now);
  // The secret of a new session. Unauthenticated; NotFound: no such id, or too late.
  struct Session {
    std::string secret;
    Role role;
  };
  StatusOr<Session> Prove(absl::string_view id, absl::string_view proof, Clock::time_point now);
  // The role of a session, and keeps it; nothing: there is none.
  std::optional<Role> Find(absl::string_view secret, Clock::time_point now);

 private:
  struct Pending {
    std::string id;
    std::unique_ptr<ServerProof> proof;
    Clock::time_point ends;
  };
  struct Known {
    Session session;
    Clock::time_point ends;
  };
  void Expire(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string job_token_;
  Mutex mu_;
  std::list<Pending> pending_ ABSL_GUARDED_BY(mu_);  // oldest first
  std::list<Known> sessions_ ABSL_GUARDED_BY(mu_);   // used longest ago first
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_PAGE_SESSIONS_H_
