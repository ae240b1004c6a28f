// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_PAGE_ACCESS_H_
#define MILLSTREAM_STATUS_PAGE_ACCESS_H_

#include <string>
#include <vector>

#include "millstream/distributed/trust/admission.h"
#include "millstream/status/http_request.h"
#include "millstream/status/http_server.h"
#include "millstream/status/page_sessions.h"

namespace millstream {

// Who may see the status page, by the rule of trust/admission.h. A caller proves a role by logging in:
//   POST /trust/challenge  the Hello of trust/token_proof.h in hexadecimal digits; {"id": ..., "challenge": ...}
//   POST /trust/prove?id=  the Proof; {"role": ...}, and a cookie for what follows
// or, as an observer, by the observer's token itself (Authorization: Bearer), which is all that some programs can do.
// Processes of the same user need neither. Thread-safe.
class PageAccess {
 public:
  struct Options {
    std::string token;               // "": the job has none
    bool loopback = true;            // the page is on the loopback interface, and asked for by its names alone
    bool insecure = false;           // without a token: everybody who reaches it may see it
    std::string task;                // of this server
    std::vector<std::string> hosts;  // names of this host that its own users may use
  };
  explicit PageAccess(Options options);

  // PermissionDenied: the request calls this server by a name that is not its own.
  Status CheckHost(const HttpRequest& request) const;
  // PermissionDenied or Unauthenticated.
  StatusOr<Role> Admit(const HttpRequest& request);
  // True if the path is one of the two above; then `response` is the answer.
  bool LogIn(const HttpRequest& request, HttpResponse* response);

 private:
  StatusOr<HttpResponse> Challenge(const HttpRequest& request);
  StatusOr<HttpResponse> Prove(const HttpRequest& request);

  const Options options_;
  const AdmissionPolicy policy_;
  const std::string observer_token_, cookie_name_;
  PageSessions sessions_;
};

// 401, 403, ... with the message.
HttpResponse RefusalOf(const Status& status);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_PAGE_ACCESS_H_
