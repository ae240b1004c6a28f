// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/admission.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace millstream {
namespace {

constexpr absl::string_view kScheme = "millstream:";
constexpr absl::string_view kTaskPrefix = "millstream:task/";

bool IsSameUser(const Caller& caller) {
  return caller.user.has_value() && (*caller.user == geteuid() || *caller.user == 0);
}

// "ps/0" of "/job:ps/replica:0/task:0"; "" for other names.
std::string ShortTaskName(absl::string_view task) {
  constexpr absl::string_view kReplica = "/replica:0/task:";
  if (!absl::ConsumePrefix(&task, "/job:")) return "";
  const size_t at = task.find(kReplica);
  if (at == absl::string_view::npos) return "";
  return absl::StrCat(task.substr(0, at), "/", task.substr(at + kReplica.size()));
}

}  // namespace

StatusOr<Role> RoleOfCertificate(const std::vector<std::string>& names) {
  std::optional<Role> role;
  for (const absl::string_view name : names) {
    if (!absl::StartsWith(name, kScheme)) continue;
    absl::string_view rest = absl::StripPrefix(name, kScheme);
    ASSIGN_OR_RETURN(const Role named, absl::StartsWith(name, kTaskPrefix) ? Role::kTask : ParseRole(rest));
    if (!role.has_value() || Includes(named, *role)) role = named;
  }
  return role.value_or(Role::kTask);
}

Status CheckTaskName(const std::vector<std::string>& certificate, absl::string_view task) {
  bool bound = false;
  const std::string own = absl::StrCat(kTaskPrefix, ShortTaskName(task));
  for (const absl::string_view name : certificate) {
    if (!absl::StartsWith(name, kScheme)) continue;
    if (name == own) return OkStatus();
    bound = true;
  }
  if (!bound) return OkStatus();
  return errors::PermissionDenied("the certificate is not that of ", task);
}

StatusOr<Role> Admit(const AdmissionPolicy& policy, const Caller& caller) {
  Role role = Role::kTask;
  if (policy.mutual_tls) {
    if (!caller.certificate.has_value()) return absl::UnauthenticatedError("a certificate of the job is needed");
    ASSIGN_OR_RETURN(role, RoleOfCertificate(*caller.certificate));
  }
  if (caller.proven.has_value()) return Includes(role, *caller.proven) ? *caller.proven : role;
  if (IsSameUser(caller)) return role;
  if (policy.token) return absl::UnauthenticatedError("the job token is needed");
  if (policy.mutual_tls || policy.insecure) return role;
  return errors::PermissionDenied("this server acts only for the user who started it, uid ", geteuid(),
                                  caller.user.has_value() ? absl::StrCat("; the caller is uid ", *caller.user)
                                                          : std::string(". The caller's user cannot be told"),
                                  ". Others need a job token (MILLSTREAM_TOKEN_FILE)");
}

}  // namespace millstream
