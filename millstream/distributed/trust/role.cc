// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/role.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "millstream/distributed/trust/hmac.h"

namespace millstream {
namespace {

constexpr Role kRoles[] = {Role::kObserver, Role::kClient, Role::kTask};

std::string RoleKey(absl::string_view job_token, Role role) {
  return HmacSha256(job_token, absl::StrCat("millstream role ", RoleName(role)));
}

// The key in a role token; nothing for a job token.
std::optional<Credential> ReadRoleToken(absl::string_view token) {
  for (const Role role : kRoles) {
    absl::string_view digits = token;
    if (!absl::ConsumePrefix(&digits, RoleName(role)) || !absl::ConsumePrefix(&digits, "-")) continue;
    if (digits.size() != 2 * kHmacBytes) return std::nullopt;
    for (const char c : digits) {
      if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
    }
    return Credential{role, absl::HexStringToBytes(digits)};
  }
  return std::nullopt;
}

}  // namespace

absl::string_view RoleName(Role role) {
  switch (role) {
    case Role::kObserver:
      return "observer";
    case Role::kClient:
      return "client";
    case Role::kTask:
      return "task";
  }
  return "unknown";
}

StatusOr<Role> ParseRole(absl::string_view name) {
  for (const Role role : kRoles) {
    if (name == RoleName(role)) return role;
  }
  return errors::InvalidArgument("'", name, "' is not a role: there are observer, client and task");
}

std::string RoleToken(absl::string_view job_token, Role role) {
  return absl::StrCat(RoleName(role), "-", absl::BytesToHexString(RoleKey(job_token, role)));
}

bool IsRoleToken(absl::string_view token) { return ReadRoleToken(token).has_value(); }

StatusOr<Credential> MakeCredential(absl::string_view token, Role wanted) {
  std::optional<Credential> given = ReadRoleToken(token);
  if (!given.has_value()) return Credential{wanted, RoleKey(token, wanted)};
  if (!Includes(given->role, wanted)) {
    return errors::PermissionDenied("this needs the token of a ", RoleName(wanted), "; the one given is of an ",
                                    RoleName(given->role));
  }
  return *std::move(given);
}

}  // namespace millstream
