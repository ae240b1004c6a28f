// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/token_proof.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "millstream/distributed/trust/hmac.h"

namespace millstream {
namespace {

constexpr char kToken[] = "a token of the job";
constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";

Credential CredentialOf(const std::string& token, Role role = Role::kTask) {
  const StatusOr<Credential> credential = MakeCredential(token, role);
  EXPECT_TRUE(credential.ok()) << credential.status();
  return credential.value_or(Credential());
}

ClientProof Client(const std::string& server = kPs0, const std::string& token = kToken) {
  return ClientProof(CredentialOf(token), kWorker, {server, ""}, "test");
}

ServerProof Server(const std::string& name = kPs0, const std::string& token = kToken) {
  return ServerProof(token, {name, {"ps0.example:2222"}, "10.0.0.2:2222"}, "test");
}

Status Handshake(ClientProof& client, ServerProof& server) {
  ASSIGN_OR_RETURN(const std::string hello, client.Hello());
  ASSIGN_OR_RETURN(const std::string challenge, server.AnswerHello(hello));
  ASSIGN_OR_RETURN(const std::string proof, client.AnswerChallenge(challenge));
  return server.CheckProof(proof);
}

TEST(HmacTest, IsTheOneOfRfc4231) {
  EXPECT_EQ(absl::BytesToHexString(HmacSha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(absl::BytesToHexString(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(HmacTest, ComparesAllBytesAndSizes) {
  EXPECT_TRUE(EqualInConstantTime("", ""));
  EXPECT_TRUE(EqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualInConstantTime("abc", "ab"));
  EXPECT_FALSE(EqualInConstantTime("", "a"));
}

TEST(TokenProofTest, BothSidesLearnWhoTheOtherIs) {
  for (const Role role : {Role::kObserver, Role::kClient, Role::kTask}) {
    ClientProof client(CredentialOf(kToken, role), kWorker, {kPs0, ""}, "test");
    ServerProof server = Server();
    EXPECT_EQ(Handshake(client, server), OkStatus());
    EXPECT_TRUE(server.proven());
    EXPECT_EQ(server.role(), role);
    EXPECT_EQ(server.client_name(), kWorker);
    EXPECT_EQ(client.server_name(), kPs0);
  }
}

TEST(TokenProofTest, TheTokenIsInNoMessage) {
  ClientProof client = Client();
  ServerProof server = Server();
  const std::string hello = client.Hello().value(), challenge = server.AnswerHello(hello).value(),
                    proof = client.AnswerChallenge(challenge).value();
  const std::string key = CredentialOf(kToken).key;
  for (const std::string& message : {hello, challenge, proof}) {
    EXPECT_LE(message.size(), kMaxProofMessage);
    EXPECT_EQ(message.find(kToken), std::string::npos);
    EXPECT_EQ(message.find(key), std::string::npos);
  }
}

TEST(TokenProofTest, TheClientRefusesAServerWithAnotherToken) {
  ClientProof client = Client();
  ServerProof server = Server(kPs0, "another token");
  const std::string challenge = server.AnswerHello(client.Hello().value()).value();
  EXPECT_EQ(client.AnswerChallenge(challenge).status().code(), absl::StatusCode::kUnauthenticated);
  // Nor does it answer a second one.
  EXPECT_EQ(client.AnswerChallenge(challenge).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TokenProofTest, TheServerRefusesAClientWithoutTheToken) {
  ServerProof server = Server();
  ASSERT_TRUE(server.AnswerHello(Client(kPs0, "a guess").Hello().value()).ok());
  EXPECT_EQ(server.CheckProof(std::string(kHmacBytes, 'x')).code(), absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(server.proven());
  EXPECT_EQ(server.CheckProof(std::string(kHmacBytes, 'x')).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TokenProofTest, ARecordedHandshakeIsUselessAgainstTheServer) {
  ClientProof client = Client();
  ServerProof server = Server();
  const std::string hello = client.Hello().value();
  const std::string proof = client.AnswerChallenge(server.AnswerHello(hello).value()).value();
  ASSERT_EQ(server.CheckProof(proof), OkStatus());
  ServerProof again = Server();
  ASSERT_TRUE(again.AnswerHello(hello).ok());
  EXPECT_EQ(again.CheckProof(proof).code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenProofTest, ARecordedHandshakeIsUselessAgainstTheClient) {
  ClientProof client = Client();
  const std::string challenge = Server().AnswerHello(client.Hello().value()).value();
  ClientProof again = Client();
  ASSERT_TRUE(again.Hello().ok());
  EXPECT_EQ(again.AnswerChallenge(challenge).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenProofTest, AServersProofSentBackProvesNothing) {
  ServerProof server = Server();
  const std::string challenge = server.AnswerHello(Client().Hello().value()).value();
  EXPECT_EQ(server.CheckProof(challenge.substr(challenge.size() - kHmacBytes)).code(),
            absl::StatusCode::kUnauthenticated);
}

// Whoever holds the address of ps:0 passes the messages on to ps:1, which knows the token.
TEST(TokenProofTest, AHandshakeForOneTaskIsNotAnsweredByAnother) {
  ClientProof client = Client(kPs0);
  ServerProof other = Server(kPs1);
  EXPECT_EQ(other.AnswerHello(client.Hello().value()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TokenProofTest, AChangedNameBreaksTheProof) {
  ClientProof client = Client(kPs0);
  std::string hello = client.Hello().value();
  const size_t at = hello.find(kPs0);
  ASSERT_NE(at, std::string::npos);
  hello.replace(at, sizeof(kPs0) - 1, kPs1);
  ServerProof other = Server(kPs1);
  const std::string challenge = other.AnswerHello(hello).value();
  EXPECT_EQ(client.AnswerChallenge(challenge).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenProofTest, SwappedNamesBreakTheProof) {
  // The client ps:0 greets the server ps:1; the other way round the names are the same two.
  ClientProof client(CredentialOf(kToken), kPs0, {kPs1, ""}, "test");
  const std::string hello = client.Hello().value();
  std::string swapped = hello;
  swapped.replace(swapped.find(kPs0), sizeof(kPs0) - 1, kPs1);
  swapped.replace(swapped.rfind(kPs1), sizeof(kPs1) - 1, kPs0);
  ServerProof server = Server(kPs0);
  const std::string challenge = server.AnswerHello(swapped).value();
  EXPECT_EQ(client.AnswerChallenge(challenge).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenProofTest, AHandshakeOfOneProtocolDoesNotServeAnother) {
  ClientProof client = Client();
  ServerProof server(kToken, {kPs0, {}, ""}, "another protocol");
  const std::string challenge = server.AnswerHello(client.Hello().value()).value();
  EXPECT_EQ(client.AnswerChallenge(challenge).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenProofTest, ARoleCannotBeRaised) {
  ClientProof client(CredentialOf(RoleToken(kToken, Role::kObserver), Role::kObserver), "", {kPs0, ""}, "test");
  std::string hello = client.Hello().value();
  hello[1] = static_cast<char>(Role::kTask);
  ServerProof server = Server();
  const std::string challenge = server.AnswerHello(hello).value();
  EXPECT_EQ(client.AnswerChallenge(challenge).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenProofTest, AServerIsFoundByItsAddressOrItsEndOfTheConnection) {
  const auto answer = [](ProofTarget target) {
    ClientProof client(CredentialOf(kToken), "client", std::move(target), "test");
    return Server().AnswerHello(client.Hello().value()).status().code();
  };
  EXPECT_EQ(answer({"ps0.example:2222", ""}), absl::StatusCode::kOk);
  EXPECT_EQ(answer({"ps0.example:2222", "192.168.1.1:7"}), absl::StatusCode::kOk);  // translated on the way
  EXPECT_EQ(answer({"alias:2222", "10.0.0.2:2222"}), absl::StatusCode::kOk);
  EXPECT_EQ(answer({"alias:2222", "10.0.0.3:2222"}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(answer({"alias:2222", ""}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(answer({"", ""}), absl::StatusCode::kFailedPrecondition);
  // Who asks for a task by name is not content with an address.
  EXPECT_EQ(answer({kPs1, "10.0.0.2:2222"}), absl::StatusCode::kFailedPrecondition);
}

TEST(TokenProofTest, EveryTruncationAndExtensionOfEveryMessageIsRefused) {
  const std::string hello = Client().Hello().value();
  for (size_t size = 0; size < hello.size(); ++size) {
    EXPECT_FALSE(Server().AnswerHello(hello.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(Server().AnswerHello(hello + "x").ok());
  EXPECT_FALSE(Server().AnswerHello(hello + std::string(kMaxProofMessage, 'x')).ok());

  ClientProof whole = Client();
  const std::string challenge = Server().AnswerHello(whole.Hello().value()).value();
  for (size_t size = 0; size <= challenge.size() + 1; ++size) {
    ClientProof client = Client();
    ServerProof server = Server();
    std::string changed = server.AnswerHello(client.Hello().value()).value();
    if (size == changed.size()) continue;
    changed.resize(size, 'x');
    EXPECT_FALSE(client.AnswerChallenge(changed).ok()) << size;
  }
  for (size_t size = 0; size <= kHmacBytes + 1; ++size) {
    if (size == kHmacBytes) continue;
    ClientProof client = Client();
    ServerProof server = Server();
    std::string proof = client.AnswerChallenge(server.AnswerHello(client.Hello().value()).value()).value();
    proof.resize(size, 'x');
    EXPECT_FALSE(server.CheckProof(proof).ok()) << size;
  }
}

TEST(TokenProofTest, EveryChangedByteOfEveryMessageIsRefused) {
  const size_t hello_size = Client().Hello().value().size();
  for (size_t i = 0; i < hello_size; ++i) {
    ClientProof client = Client();
    ServerProof server = Server();
    std::string hello = client.Hello().value();
    hello[i] = static_cast<char>(hello[i] ^ 1);
    const StatusOr<std::string> challenge = server.AnswerHello(hello);
    EXPECT_FALSE(challenge.ok() && client.AnswerChallenge(*challenge).ok()) << i;
  }
  const size_t challenge_size = Server().AnswerHello(Client().Hello().value()).value().size();
  for (size_t i = 0; i < challenge_size; ++i) {
    ClientProof client = Client();
    std::string challenge = Server().AnswerHello(client.Hello().value()).value();
    challenge[i] = static_cast<char>(challenge[i] ^ 1);
    EXPECT_FALSE(client.AnswerChallenge(challenge).ok()) << i;
  }
}

TEST(TokenProofTest, LongNamesAndCallsOutOfTurnAreErrors) {
  const std::string long_name(kMaxProofName + 1, 'n');
  ClientProof named(CredentialOf(kToken), long_name, {kPs0, ""}, "test");
  EXPECT_EQ(named.Hello().status().code(), absl::StatusCode::kInvalidArgument);
  ClientProof longest(CredentialOf(kToken), std::string(kMaxProofName, 'n'),
                      {std::string(kMaxProofName, 'm'), std::string(kMaxProofName, 'e')}, "test");
  ASSERT_TRUE(longest.Hello().ok());
  EXPECT_EQ(longest.Hello().status().code(), absl::StatusCode::kFailedPrecondition);

  EXPECT_EQ(Client().AnswerChallenge("").status().code(), absl::StatusCode::kFailedPrecondition);
  ServerProof server = Server();
  EXPECT_EQ(server.CheckProof("").code(), absl::StatusCode::kFailedPrecondition);
  const std::string hello = Client().Hello().value();
  ASSERT_TRUE(server.AnswerHello(hello).ok());
  EXPECT_EQ(server.AnswerHello(hello).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(TokenProofTest, AnotherVersionIsNamed) {
  std::string hello = Client().Hello().value();
  hello[0] = 2;
  const Status status = Server().AnswerHello(hello).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("version 2"), absl::string_view::npos) << status;
}

TEST(RoleTest, RoleTokensStandForTheirRoleAlone) {
  const std::string observer = RoleToken(kToken, Role::kObserver), client = RoleToken(kToken, Role::kClient);
  EXPECT_TRUE(IsRoleToken(observer));
  EXPECT_TRUE(IsRoleToken(client));
  EXPECT_FALSE(IsRoleToken(kToken));
  EXPECT_FALSE(IsRoleToken("observer-short"));
  EXPECT_NE(observer.substr(9), client.substr(7));
  EXPECT_EQ(MakeCredential(observer, Role::kObserver)->key, MakeCredential(kToken, Role::kObserver)->key);
  EXPECT_EQ(MakeCredential(client, Role::kClient)->key, MakeCredential(kToken, Role::kClient)->key);
  EXPECT_EQ(MakeCredential(client, Role::kObserver)->role, Role::kClient);  // may do what observers may
  EXPECT_EQ(MakeCredential(observer, Role::kClient).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(MakeCredential(client, Role::kTask).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(RoleTest, NamesAreReadBack) {
  for (const Role role : {Role::kObserver, Role::kClient, Role::kTask}) EXPECT_EQ(*ParseRole(RoleName(role)), role);
  EXPECT_FALSE(ParseRole("root").ok());
  EXPECT_TRUE(Includes(Role::kTask, Role::kObserver));
  EXPECT_FALSE(Includes(Role::kObserver, Role::kClient));
}

}  // namespace
}  // namespace millstream
