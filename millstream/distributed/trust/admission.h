// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TRUST_ADMISSION_H_
#define MILLSTREAM_DISTRIBUTED_TRUST_ADMISSION_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"
#include "millstream/distributed/trust/role.h"

namespace millstream {

// What a server asks of those who connect to it.
struct AdmissionPolicy {
  bool token = false;       // the job has one
  bool mutual_tls = false;  // callers show a certificate of the job's authority
  bool insecure = false;    // --insecure: everybody is let in
};

// What is known of a caller when it asks for something.
struct Caller {
  std::optional<Role> proven;  // by a handshake on this connection (token_proof.h)
  std::optional<uid_t> user;   // PeerUser() of the connection
  // The subject alternative names of the certificate that TLS has verified; nothing: it showed none.
  std::optional<std::vector<std::string>> certificate;
};

// The one rule by which links, RPCs and the status page let callers in:
//   - With mutual TLS the certificate names the role (RoleOfCertificate) that a caller has at most.
//   - A caller that proved a role has that one.
//   - A process of the same user on this host, or of root, may do everything: it could read the token, too.
//   - On a server with a token nobody else may do anything (Unauthenticated).
//   - On one without token and mutual TLS everybody may do everything if it is insecure, and nobody else if it is not
//     (PermissionDenied).
StatusOr<Role> Admit(const AdmissionPolicy& policy, const Caller& caller);

// A certificate names roles by URI: "millstream:client", "millstream:observer", or "millstream:task/ps/0" for the task
// /job:ps/replica:0/task:0. Certificates without such a URI are those of tasks whose names are not bound.
StatusOr<Role> RoleOfCertificate(const std::vector<std::string>& names);

// Whether the caller may be the task it says it is ("/job:ps/replica:0/task:0"): unless its certificate names tasks and
// this is none of them (PermissionDenied).
Status CheckTaskName(const std::vector<std::string>& certificate, absl::string_view task);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TRUST_ADMISSION_H_
