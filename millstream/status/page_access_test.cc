// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/page_access.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "millstream/status/json_text.h"

namespace millstream {
namespace {

constexpr char kToken[] = "the token of the job";
const uid_t kOther = geteuid() + 1;

HttpRequest From(std::optional<uid_t> user, const std::string& host = "localhost:6006") {
  HttpRequest request;
  request.method = "GET";
  request.path = "/status.json";
  request.headers.emplace_back("host", host);
  request.peer_user = user;
  return request;
}

HttpRequest With(HttpRequest request, const std::string& name, const std::string& value) {
  request.headers.emplace_back(name, value);
  return request;
}

PageAccess::Options OptionsWith(const std::string& token, bool loopback = true) {
  PageAccess::Options options;
  options.token = token;
  options.loopback = loopback;
  options.task = "/job:worker/replica:0/task:0";
  options.hosts = {"worker0.example"};
  return options;
}

HttpResponse Post(PageAccess& access, const std::string& path, const std::string& query, const std::string& body) {
  HttpRequest request = From(kOther);
  request.method = "POST";
  request.path = path;
  request.query = query;
  request.body = absl::BytesToHexString(body);
  HttpResponse response;
  EXPECT_TRUE(access.LogIn(request, &response));
  return response;
}

// The cookie of a session, "name=value".
std::string LogIn(PageAccess& access, const std::string& token, Role role) {
  ClientProof client(*MakeCredential(token, role), "", {"localhost:6006", ""}, "status");
  const HttpResponse first = Post(access, "/trust/challenge", "", *client.Hello());
  if (first.code != 200) return absl::StrCat(first.code);
  const Json answer = ParseJson(first.body);
  const StatusOr<std::string> proof =
      client.AnswerChallenge(absl::HexStringToBytes(answer["challenge"].get<std::string>()));
  if (!proof.ok()) return proof.status().ToString();
  const HttpResponse second = Post(access, "/trust/prove", "id=" + answer["id"].get<std::string>(), *proof);
  for (const auto& [name, value] : second.headers) {
    if (name == "Set-Cookie") return value.substr(0, value.find(';'));
  }
  return absl::StrCat(second.code);
}

TEST(PageAccessTest, WithoutATokenOnlyForItsOwnUserAndRoot) {
  PageAccess access(OptionsWith(""));
  EXPECT_EQ(*access.Admit(From(geteuid())), Role::kTask);
  EXPECT_EQ(*access.Admit(From(0)), Role::kTask);
  EXPECT_TRUE(absl::IsPermissionDenied(access.Admit(From(kOther)).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(access.Admit(From(std::nullopt)).status()));
  HttpResponse response;
  HttpRequest challenge = From(kOther);
  challenge.path = "/trust/challenge";
  EXPECT_TRUE(access.LogIn(challenge, &response));
  EXPECT_EQ(response.code, 404);
}

TEST(PageAccessTest, InsecureIsForEverybodyButNotForOtherSites) {
  PageAccess::Options options = OptionsWith("");
  options.insecure = true;
  PageAccess access(options);
  EXPECT_EQ(*access.Admit(From(kOther)), Role::kTask);
  EXPECT_TRUE(absl::IsPermissionDenied(access.Admit(From(kOther, "rebound.example")).status()));
}

TEST(PageAccessTest, WithATokenOthersLogIn) {
  PageAccess access(OptionsWith(kToken));
  EXPECT_EQ(*access.Admit(From(geteuid())), Role::kTask);
  EXPECT_TRUE(absl::IsUnauthenticated(access.Admit(From(kOther)).status()));
  EXPECT_TRUE(absl::IsUnauthenticated(access.Admit(From(std::nullopt)).status()));
  for (const Role role : {Role::kObserver, Role::kClient, Role::kTask}) {
    EXPECT_EQ(*access.Admit(With(From(kOther), "cookie", LogIn(access, kToken, role))), role);
  }
  const std::string observer = RoleToken(kToken, Role::kObserver);
  EXPECT_EQ(*access.Admit(With(From(kOther), "cookie", LogIn(access, observer, Role::kObserver))), Role::kObserver);
  EXPECT_TRUE(absl::StrContains(LogIn(access, "another token", Role::kClient), "does not know the job token"));
  PageAccess other(OptionsWith(kToken));
  const std::string cookie = LogIn(other, kToken, Role::kClient);
  EXPECT_TRUE(absl::IsUnauthenticated(access.Admit(With(From(kOther), "cookie", cookie)).status()));
}

TEST(PageAccessTest, OnlyTheObserversTokenIsTakenAsItIs) {
  PageAccess access(OptionsWith(kToken));
  const auto bearer = [&](const std::string& token) {
    return access.Admit(With(From(kOther), "authorization", "Bearer " + token));
  };
  EXPECT_EQ(*bearer(RoleToken(kToken, Role::kObserver)), Role::kObserver);
  for (const std::string& token :
       {std::string(kToken), RoleToken(kToken, Role::kClient), RoleToken("another", Role::kObserver), std::string()}) {
    EXPECT_TRUE(absl::IsUnauthenticated(bearer(token).status())) << token;
  }
}

// On loopback other names are refused; elsewhere a browser that was told another name does not count as its user.
TEST(PageAccessTest, ANameThatIsNotOursDoesNotSpeakForTheUser) {
  PageAccess loopback(OptionsWith(kToken)), everywhere(OptionsWith(kToken, /*loopback=*/false));
  for (const char* host : {"localhost:6006", "127.0.0.1:6006", "[::1]:6006"}) {
    EXPECT_TRUE(loopback.Admit(From(geteuid(), host)).ok()) << host;
    EXPECT_TRUE(everywhere.Admit(From(geteuid(), host)).ok()) << host;
  }
  for (const char* host : {"10.0.0.1:6006", "worker0.example:6006"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(loopback.Admit(From(geteuid(), host)).status())) << host;
    EXPECT_TRUE(everywhere.Admit(From(geteuid(), host)).ok()) << host;
  }
  for (const char* host : {"", "rebound.example", "worker0.example.rebound.example:6006"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(loopback.Admit(From(geteuid(), host)).status())) << host;
    EXPECT_TRUE(absl::IsUnauthenticated(everywhere.Admit(From(geteuid(), host)).status())) << host;
  }
}

}  // namespace
}  // namespace millstream
