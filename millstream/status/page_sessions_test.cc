// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/page_sessions.h"

#include <gtest/gtest.h>

#include <set>

namespace millstream {
namespace {

using namespace std::chrono_literals;

constexpr char kToken[] = "the token of the job";
const PageSessions::Clock::time_point kStart = PageSessions::Clock::time_point() + 1000s;
const ServerIdentity kIdentity = {"/job:worker/replica:0/task:0", {"host:6006"}, ""};

ClientProof Client(const std::string& token = kToken, Role role = Role::kClient) {
  return ClientProof(*MakeCredential(token, role), "", {"host:6006", ""}, "status");
}

StatusOr<PageSessions::Session> LogIn(PageSessions& sessions, ClientProof client,
                                      PageSessions::Clock::time_point now = kStart) {
  ASSIGN_OR_RETURN(const std::string hello, client.Hello());
  ASSIGN_OR_RETURN(const PageSessions::Challenge challenge, sessions.Begin(hello, kIdentity, now));
  ASSIGN_OR_RETURN(const std::string proof, client.AnswerChallenge(challenge.challenge));
  return sessions.Prove(challenge.id, proof, now);
}

TEST(PageSessionsTest, ASessionHasTheRoleThatWasProven) {
  PageSessions sessions(kToken);
  for (const Role role : {Role::kObserver, Role::kClient, Role::kTask}) {
    const StatusOr<PageSessions::Session> session = LogIn(sessions, Client(kToken, role));
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(session->role, role);
    EXPECT_EQ(sessions.Find(session->secret, kStart), role);
  }
  EXPECT_TRUE(LogIn(sessions, Client(RoleToken(kToken, Role::kObserver), Role::kObserver)).ok());
  EXPECT_EQ(sessions.Find("", kStart), std::nullopt);
  EXPECT_EQ(sessions.Find("a guess", kStart), std::nullopt);
}

TEST(PageSessionsTest, AProofServesOnce) {
  PageSessions sessions(kToken);
  ClientProof client = Client();
  const auto challenge = sessions.Begin(*client.Hello(), kIdentity, kStart);
  const std::string proof = *client.AnswerChallenge(challenge->challenge);
  ASSERT_TRUE(sessions.Prove(challenge->id, proof, kStart).ok());
  EXPECT_TRUE(absl::IsNotFound(sessions.Prove(challenge->id, proof, kStart).status()));
}

TEST(PageSessionsTest, AWrongProofEndsTheAttempt) {
  PageSessions sessions(kToken);
  ClientProof client = Client();
  const auto challenge = sessions.Begin(*client.Hello(), kIdentity, kStart);
  const std::string proof = *client.AnswerChallenge(challenge->challenge);
  EXPECT_TRUE(absl::IsUnauthenticated(sessions.Prove(challenge->id, std::string(32, 'x'), kStart).status()));
  EXPECT_TRUE(absl::IsNotFound(sessions.Prove(challenge->id, proof, kStart).status()));
}

TEST(PageSessionsTest, AttemptsAndSessionsExpire) {
  PageSessions sessions(kToken);
  ClientProof client = Client();
  const auto challenge = sessions.Begin(*client.Hello(), kIdentity, kStart);
  const std::string proof = *client.AnswerChallenge(challenge->challenge);
  EXPECT_TRUE(absl::IsNotFound(sessions.Prove(challenge->id, proof, kStart + 31s).status()));

  const std::string secret = LogIn(sessions, Client())->secret;
  EXPECT_EQ(sessions.Find(secret, kStart + 11h), Role::kClient);  // and is kept from here on
  EXPECT_EQ(sessions.Find(secret, kStart + 22h), Role::kClient);
  EXPECT_EQ(sessions.Find(secret, kStart + 35h), std::nullopt);
}

TEST(PageSessionsTest, NumbersAreBoundedAndTheOldestGo) {
  PageSessions sessions(kToken);
  ClientProof client = Client();
  const auto first = sessions.Begin(*client.Hello(), kIdentity, kStart);
  for (size_t i = 0; i < PageSessions::kMaxPending; ++i) {
    ClientProof other = Client();
    ASSERT_TRUE(sessions.Begin(*other.Hello(), kIdentity, kStart).ok());
  }
  EXPECT_TRUE(absl::IsNotFound(sessions.Prove(first->id, *client.AnswerChallenge(first->challenge), kStart).status()));

  const std::string used = LogIn(sessions, Client())->secret, unused = LogIn(sessions, Client())->secret;
  std::set<std::string> secrets = {used, unused};
  for (size_t i = 0; i < PageSessions::kMaxSessions - 1; ++i) {
    EXPECT_TRUE(sessions.Find(used, kStart).has_value());
    secrets.insert(LogIn(sessions, Client())->secret);
  }
  EXPECT_EQ(secrets.size(), PageSessions::kMaxSessions + 1);  // all different
  EXPECT_TRUE(sessions.Find(used, kStart).has_value());
  EXPECT_FALSE(sessions.Find(unused, kStart).has_value());
}

}  // namespace
}  // namespace millstream
