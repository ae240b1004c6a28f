// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/status_server.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/trust/hmac.h"
#include "millstream/status/json_text.h"
#include "millstream/status/page.h"
#include "millstream/status/prometheus.h"

namespace millstream {
namespace {

constexpr std::chrono::milliseconds kTraceTimeout{10'000};
constexpr double kMaxHold = 30;  // seconds
constexpr int kMaxHeld = 8;      // of the 16 connections that there may be
constexpr char kJson[] = "application/json; charset=utf-8";

HttpResponse Refusal(int code, const std::string& why) { return {code, "text/plain; charset=utf-8", why + "\n", {}}; }

HttpResponse JsonOr(StatusOr<std::string> text) {
  if (text.ok()) return {200, kJson, *std::move(text), {}};
  const int code = absl::IsNotFound(text.status()) ? 404 : absl::IsDeadlineExceeded(text.status()) ? 504 : 503;
  return {code, kJson, ToText({{"error", std::string(text.status().message())}}), {}};
}

// A name that can only stand for this machine. Another one in the header of a request to loopback means that a site in
// somebody's browser has had its own name resolved to 127.0.0.1.
bool IsLoopbackName(absl::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos && (host[0] != '[' || host[colon - 1] == ']')) host = host.substr(0, colon);
  const bool number =
      absl::StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == absl::string_view::npos;
  return number || host == "localhost" || host == "[::1]";
}

std::string Secret() { return absl::BytesToHexString(RandomBytes(16)); }

}  // namespace

StatusServer::StatusServer(Options options) : options_(std::move(options)), action_token_(Secret()) {
  ClusterStatus::Options cluster = options_.cluster;
  cluster.stop = &stop_;
  cluster_ = std::make_unique<ClusterStatus>(std::move(cluster));
}

StatusOr<std::unique_ptr<StatusServer>> StatusServer::Start(Options options) {
  if (!options.loopback && options.token.empty()) {
    return errors::FailedPrecondition("the status page beyond loopback needs a job token (MILLSTREAM_TOKEN_FILE)");
  }
  std::unique_ptr<StatusServer> server(new StatusServer(std::move(options)));
  HttpServerOptions http;
  http.address = server->options_.address;
  http.port = server->options_.port;
  StatusOr<std::unique_ptr<HttpServer>> started =
      HttpServer::Start(http, [raw = server.get()](const HttpRequest& request) { return raw->Handle(request); });
  if (!started.ok()) return WithContext(started.status(), "status page");
  server->http_ = *std::move(started);
  return server;
}

void StatusServer::Stop() {
  stop_.StartCancel(errors::Cancelled("the server stops"));
  stopped_.Notify();
  if (http_ != nullptr) http_->Stop();
}

int StatusServer::Admit(const HttpRequest& request) const {
  if (options_.loopback) return IsLoopbackName(request.header("host")) ? 200 : 403;
  absl::string_view given = request.header("authorization");
  return absl::ConsumePrefix(&given, "Bearer ") && EqualSecrets(given, options_.token) ? 200 : 401;
}

HttpResponse StatusServer::Handle(const HttpRequest& request) {
  const bool post = request.path == "/trace";
  if (post ? request.method != "POST" : request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = Refusal(405, "not with this method");
    refusal.headers.emplace_back("Allow", post ? "POST" : "GET, HEAD");
    return refusal;
  }
  if (request.path == "/healthz") return {200, "text/plain", "ok\n", {}};
  if (request.path == "/readyz")
    return options_.ready() ? HttpResponse{200, "text/plain", "ready\n", {}} : Refusal(503, "the job has ended");
  if (request.path == "/" && !options_.loopback) return Page();
  switch (Admit(request)) {
    case 200:
      return Route(request);
    case 401: {
      HttpResponse refusal =
          Refusal(401, "show the job token: Authorization: Bearer TOKEN, or open the page with #token=TOKEN");
      refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
      return refusal;
    }
    default:
      return Refusal(403, "ask for localhost or 127.0.0.1: another name in the address bar is not let in here");
  }
}

HttpResponse StatusServer::Route(const HttpRequest& request) {
  if (request.path == "/") return Page();
  if (request.path == "/status.json") return StatusJson(request);
  if (request.path == "/graph.json") return JsonOr(cluster_->Graph(request.parameter("task")));
  if (request.path == "/trace") return Trace(request);
  if (request.path == "/metrics") {
    const bool all = request.parameter("cluster") == "1";
    return {200,
            "text/plain; version=0.0.4; charset=utf-8",
            PrometheusText(all ? cluster_->Describe(1e18) : cluster_->DescribeOwn()),
            {}};
  }
  return Refusal(404, "there are /, /status.json, /graph.json, /metrics, /healthz, /readyz");
}

HttpResponse StatusServer::Page() {
  const std::string nonce = Secret();
  HttpResponse page = {200, "text/html; charset=utf-8", absl::StrReplaceAll(kStatusPage, {{"NONCE", nonce}}), {}};
  page.headers.emplace_back(
      "Content-Security-Policy",
      absl::StrCat(
          "default-src 'none'; script-src 'nonce-", nonce, "'; style-src 'nonce-", nonce,
          "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"));
  return page;
}

void StatusServer::Hold(double seconds) {
  if (held_.fetch_add(1) < kMaxHeld) {
    const auto time = std::chrono::duration<double>(std::min(seconds, kMaxHold));
    stopped_.WaitUntil(std::chrono::steady_clock::now() + std::chrono::ceil<std::chrono::milliseconds>(time));
  }
  held_.fetch_sub(1);
}

HttpResponse StatusServer::StatusJson(const HttpRequest& request) {
  double since = 0, wait = 0;
  const std::string asked = request.parameter("since"), hold = request.parameter("wait");
  if (!asked.empty() && !absl::SimpleAtod(asked, &since)) return Refusal(400, "since: seconds since the epoch");
  if (!hold.empty() && (!absl::SimpleAtod(hold, &wait) || !(wait >= 0))) return Refusal(400, "wait: seconds");
  if (wait > 0) Hold(wait);
  std::string text = cluster_->Describe(since);
  // What was heard of the others while their answers were being cancelled says nothing.
  if (stop_.IsCancelled()) text = cluster_->DescribeEnd(since);
  // Other sites can send requests here from somebody's browser, but not read the answer.
  text.insert(1, absl::StrCat("\"action_token\":\"", action_token_, "\","));
  return {200, kJson, std::move(text), {}};
}

HttpResponse StatusServer::Trace(const HttpRequest& request) {
  const absl::string_view origin = request.header("origin");
  if (!origin.empty() && origin != absl::StrCat("http://", request.header("host")))
    return Refusal(403, "only the page itself may ask for this");
  if (!EqualSecrets(request.header("x-millstream-action"), action_token_)) {
    return Refusal(403, "send the action_token of /status.json as X-Millstream-Action");
  }
  const std::string task = request.parameter("task");
  return JsonOr(cluster_->Trace(task.empty() ? options_.cluster.own->task() : task, kTraceTimeout));
}

}  // namespace millstream
