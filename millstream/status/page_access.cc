// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/page_access.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "millstream/distributed/trust/hmac.h"
#include "millstream/status/http_host.h"
#include "millstream/status/json_text.h"

namespace millstream {
namespace {

constexpr char kJson[] = "application/json; charset=utf-8";

StatusOr<std::string> FromHex(absl::string_view digits) {
  const auto is_digit = [](unsigned char c) { return absl::ascii_isxdigit(c); };
  if (digits.size() % 2 != 0 || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return errors::InvalidArgument("the body must be hexadecimal digits");
  }
  return absl::HexStringToBytes(digits);
}

}  // namespace

HttpResponse RefusalOf(const Status& status) {
  const int code = absl::IsUnauthenticated(status)      ? 401
                   : absl::IsPermissionDenied(status)   ? 403
                   : absl::IsNotFound(status)           ? 404
                   : absl::IsInvalidArgument(status)    ? 400
                   : absl::IsFailedPrecondition(status) ? 403
                                                        : 503;
  HttpResponse refusal = {code, "text/plain; charset=utf-8", absl::StrCat(status.message(), "\n"), {}};
  if (code == 401) refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
  return refusal;
}

PageAccess::PageAccess(Options options)
    : options_(std::move(options)),
      policy_{!options_.token.empty(), /*mutual_tls=*/false, options_.insecure},
      observer_token_(options_.token.empty() ? "" : RoleToken(options_.token, Role::kObserver)),
      // Cookies do not tell the servers of one host apart by their ports.
      cookie_name_(absl::StrCat("millstream-", absl::BytesToHexString(RandomBytes(8)))),
      sessions_(options_.token) {}

Status PageAccess::CheckHost(const HttpRequest& request) const {
  if (!options_.loopback || IsLoopbackName(HostOfHeader(request.header("host")))) return OkStatus();
  return errors::PermissionDenied("ask for localhost or 127.0.0.1: another name in the address bar is not let in here");
}

StatusOr<Role> PageAccess::Admit(const HttpRequest& request) {
  RETURN_IF_ERROR(CheckHost(request));
  Caller caller;
  const absl::string_view host = HostOfHeader(request.header("host"));
  const bool own_name =
      IsAddressLiteral(host) || std::find(options_.hosts.begin(), options_.hosts.end(), host) != options_.hosts.end();
  // A site whose name leads here speaks with the user's browser, but does not speak for the user.
  if (own_name) caller.user = request.peer_user;
  caller.proven = sessions_.Find(request.cookie(cookie_name_), PageSessions::Clock::now());
  absl::string_view bearer = request.header("authorization");
  if (absl::ConsumePrefix(&bearer, "Bearer ") && !caller.proven.has_value() && policy_.token) {
    if (!EqualInConstantTime(bearer, observer_token_)) {
      return absl::UnauthenticatedError(
          "only the observer's token (millstream token --role observer) is taken here; the job token is never sent");
    }
    caller.proven = Role::kObserver;
  }
  const StatusOr<Role> role = millstream::Admit(policy_, caller);
  if (absl::IsUnauthenticated(role.status())) {
    return absl::UnauthenticatedError("log in with the job token or a role's: open the page in a browser");
  }
  return role;
}

StatusOr<HttpResponse> PageAccess::Challenge(const HttpRequest& request) {
  ASSIGN_OR_RETURN(const std::string hello, FromHex(request.body));
  // A browser knows no more of its connection than the name in the address bar.
  const ServerIdentity identity = {options_.task, {std::string(request.header("host"))}, ""};
  ASSIGN_OR_RETURN(const PageSessions::Challenge challenge,
                   sessions_.Begin(hello, identity, PageSessions::Clock::now()));
  return HttpResponse{
      200, kJson, ToText({{"id", challenge.id}, {"challenge", absl::BytesToHexString(challenge.challenge)}}), {}};
}

StatusOr<HttpResponse> PageAccess::Prove(const HttpRequest& request) {
  ASSIGN_OR_RETURN(const std::string proof, FromHex(request.body));
  StatusOr<PageSessions::Session> session = sessions_.Prove(request.parameter("id"), proof, PageSessions::Clock::now());
  if (!session.ok()) return session.status();
  HttpResponse response = {200, kJson, ToText({{"role", std::string(RoleName(session->role))}}), {}};
  response.headers.emplace_back(
      "Set-Cookie", absl::StrCat(cookie_name_, "=", session->secret, "; Path=/; HttpOnly; SameSite=Strict"));
  return response;
}

bool PageAccess::LogIn(const HttpRequest& request, HttpResponse* response) {
  const bool challenge = request.path == "/trust/challenge", prove = request.path == "/trust/prove";
  if (!challenge && !prove) return false;
  Status refused = CheckHost(request);
  if (refused.ok() && options_.token.empty()) refused = errors::NotFound("this job has no token to log in with");
  if (!refused.ok()) {
    *response = RefusalOf(refused);
    return true;
  }
  StatusOr<HttpResponse> answer = challenge ? Challenge(request) : Prove(request);
  *response = answer.ok() ? *std::move(answer) : RefusalOf(answer.status());
  return true;
}

}  // namespace millstream
