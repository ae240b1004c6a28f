// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TRUST_ROLE_H_
#define MILLSTREAM_DISTRIBUTED_TRUST_ROLE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// What a caller may do; each role may do what the ones before it may. The numbers travel in handshakes.
enum class Role : uint8_t {
  kObserver = 1,  // read the status page
  kClient = 2,    // open sessions, trace and stop the job
  kTask = 3,      // act as a task of the job: worker calls, links
};

absl::string_view RoleName(Role role);  // "observer", "client", "task"
StatusOr<Role> ParseRole(absl::string_view name);
inline bool Includes(Role role, Role needed) { return static_cast<uint8_t>(role) >= static_cast<uint8_t>(needed); }

// The words in a token file. A job token stands for every role. A role token, which is derived from it
// ("observer-" and 64 hexadecimal digits), can be given away: it stands for its role alone, and neither the job token
// nor another role's can be computed from it.
std::string RoleToken(absl::string_view job_token, Role role);
bool IsRoleToken(absl::string_view token);

// What one side of a handshake signs with.
struct Credential {
  Role role = Role::kTask;
  std::string key;
};
// From a job token (for `wanted`) or a role token. PermissionDenied if the token is of a lower role than `wanted`.
StatusOr<Credential> MakeCredential(absl::string_view token, Role wanted);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TRUST_ROLE_H_
