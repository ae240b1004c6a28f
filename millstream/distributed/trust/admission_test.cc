// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/admission.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace millstream {
namespace {

using absl::StatusCode;

const uid_t kSame = geteuid();
const uid_t kOther = kSame + 1;
constexpr uid_t kRoot = 0;

Caller By(std::optional<uid_t> user, std::optional<Role> proven = std::nullopt) { return {proven, user, std::nullopt}; }

Caller WithCertificate(std::vector<std::string> names, std::optional<Role> proven = std::nullopt) {
  return {proven, std::nullopt, std::move(names)};
}

StatusCode Code(const AdmissionPolicy& policy, const Caller& caller) { return Admit(policy, caller).status().code(); }

TEST(AdmissionTest, WithoutATokenOnlyTheSameUserAndRootMayActOnIt) {
  const AdmissionPolicy plain;
  EXPECT_EQ(*Admit(plain, By(kSame)), Role::kTask);
  EXPECT_EQ(*Admit(plain, By(kRoot)), Role::kTask);
  EXPECT_EQ(Code(plain, By(kOther)), StatusCode::kPermissionDenied);
  EXPECT_EQ(Code(plain, By(std::nullopt)), StatusCode::kPermissionDenied);
}

TEST(AdmissionTest, InsecureLetsEverybodyIn) {
  const AdmissionPolicy insecure = {false, false, true};
  EXPECT_EQ(*Admit(insecure, By(std::nullopt)), Role::kTask);
  EXPECT_EQ(*Admit(insecure, By(kOther)), Role::kTask);
}

TEST(AdmissionTest, ATokenIsNeededEvenWhereInsecureIsSet) {
  for (const bool insecure : {false, true}) {
    const AdmissionPolicy policy = {true, false, insecure};
    EXPECT_EQ(Code(policy, By(std::nullopt)), StatusCode::kUnauthenticated);
    EXPECT_EQ(Code(policy, By(kOther)), StatusCode::kUnauthenticated);
    EXPECT_EQ(*Admit(policy, By(kSame)), Role::kTask);  // TensorFlow's clients cannot prove it
    EXPECT_EQ(*Admit(policy, By(kRoot)), Role::kTask);
    for (const Role role : {Role::kObserver, Role::kClient, Role::kTask}) {
      EXPECT_EQ(*Admit(policy, By(std::nullopt, role)), role);
      EXPECT_EQ(*Admit(policy, By(kOther, role)), role);
    }
  }
}

TEST(AdmissionTest, MutualTlsNeedsACertificateFromEverybody) {
  const AdmissionPolicy tls = {false, true, false};
  EXPECT_EQ(Code(tls, By(kSame)), StatusCode::kUnauthenticated);
  EXPECT_EQ(Code(tls, By(std::nullopt)), StatusCode::kUnauthenticated);
  EXPECT_EQ(*Admit(tls, WithCertificate({})), Role::kTask);
  EXPECT_EQ(*Admit(tls, WithCertificate({"ps0.example", "millstream:task/ps/0"})), Role::kTask);
  EXPECT_EQ(*Admit(tls, WithCertificate({"millstream:client"})), Role::kClient);
  EXPECT_EQ(*Admit(tls, WithCertificate({"millstream:observer"})), Role::kObserver);
  EXPECT_EQ(Code(tls, WithCertificate({"millstream:emperor"})), StatusCode::kInvalidArgument);
}

TEST(AdmissionTest, WithTokenAndCertificateTheLowerRoleCounts) {
  const AdmissionPolicy both = {true, true, false};
  EXPECT_EQ(Code(both, WithCertificate({})), StatusCode::kUnauthenticated);
  EXPECT_EQ(Code(both, By(kSame, Role::kTask)), StatusCode::kUnauthenticated);
  EXPECT_EQ(*Admit(both, WithCertificate({}, Role::kTask)), Role::kTask);
  EXPECT_EQ(*Admit(both, WithCertificate({}, Role::kObserver)), Role::kObserver);
  EXPECT_EQ(*Admit(both, WithCertificate({"millstream:client"}, Role::kTask)), Role::kClient);
  EXPECT_EQ(*Admit(both, WithCertificate({"millstream:client"}, Role::kObserver)), Role::kObserver);
}

TEST(AdmissionTest, ACertificateThatNamesATaskIsThatTasksAlone) {
  const std::string ps0 = "/job:ps/replica:0/task:0", ps10 = "/job:ps/replica:0/task:10";
  EXPECT_EQ(CheckTaskName({}, ps0), OkStatus());
  EXPECT_EQ(CheckTaskName({"ps0.example"}, ps0), OkStatus());
  EXPECT_EQ(CheckTaskName({"ps0.example", "millstream:task/ps/0"}, ps0), OkStatus());
  EXPECT_EQ(CheckTaskName({"millstream:task/ps/1", "millstream:task/ps/0"}, ps0), OkStatus());
  EXPECT_EQ(CheckTaskName({"millstream:task/ps/1"}, ps0).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(CheckTaskName({"millstream:task/ps/1"}, ps10).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(CheckTaskName({"millstream:task/worker/0"}, ps0).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(CheckTaskName({"millstream:client"}, ps0).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(CheckTaskName({"millstream:task/ps/0"}, "no task").code(), StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace millstream
