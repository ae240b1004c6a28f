// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/page_sessions.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "millstream/distributed/trust/hmac.h"

namespace millstream {

void PageSessions::Expire(Clock::time_point now) {
  pending_.remove_if([&](const Pending& pending) { return pending.ends <= now; });
  sessions_.remove_if([&](const Known& known) { return known.ends <= now; });
}

StatusOr<PageSessions::Challenge> PageSessions::Begin(absl::string_view hello, ServerIdentity identity,
                                                      Clock::time_point now) {
  auto proof = std::make_unique<ServerProof>(job_token_, std::move(identity), "status");
  ASSIGN_OR_RETURN(std::string challenge, proof->AnswerHello(hello));
  const std::string id = absl::BytesToHexString(RandomBytes(16));
  MutexLock lock(mu_);
  Expire(now);
  if (pending_.size() >= kMaxPending) pending_.pop_front();
  pending_.push_back({id, std::move(proof), now + kPendingTime});
  return Challenge{id, std::move(challenge)};
}

StatusOr<PageSessions::Session> PageSessions::Prove(absl::string_view id, absl::string_view proof,
                                                    Clock::time_point now) {
  MutexLock lock(mu_);
  Expire(now);
  const auto found = std::find_if(pending_.begin(), pending_.end(),
                                  [&](const Pending& one) { return EqualInConstantTime(one.id, id); });
  if (found == pending_.end()) return errors::NotFound("the login took too long: begin again");
  const std::unique_ptr<ServerProof> checked = std::move(found->proof);
  pending_.erase(found);
  RETURN_IF_ERROR(checked->CheckProof(proof));
  if (sessions_.size() >= kMaxSessions) sessions_.pop_front();
  sessions_.push_back({{absl::BytesToHexString(RandomBytes(32)), checked->role()}, now + kSessionTime});
  return sessions_.back().session;
}

std::optional<Role> PageSessions::Find(absl::string_view secret, Clock::time_point now) {
  MutexLock lock(mu_);
  Expire(now);
  const auto found = std::find_if(sessions_.begin(), sessions_.end(),
                                  [&](const Known& one) { return EqualInConstantTime(one.session.secret, secret); });
  if (found == sessions_.end()) return std::nullopt;
  found->ends = now + kSessionTime;
  sessions_.splice(sessions_.end(), sessions_, found);
  return found->session.role;
}

}  // namespace millstream
