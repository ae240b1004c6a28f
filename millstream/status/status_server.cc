// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/status_server.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
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

std::string Secret() { return absl::BytesToHexString(RandomBytes(16)); }

}  // namespace

StatusServer::StatusServer(Options options)
    : options_(std::move(options)), action_token_(Secret()), access_(options_.access) {
  ClusterStatus::Options cluster = options_.cluster;
  cluster.stop = &stop_;
  cluster_ = std::make_unique<ClusterStatus>(std::move(cluster));
}

StatusOr<std::unique_ptr<StatusServer>> StatusServer::Start(Options options) {
  if (!options.access.loopback && options.access.token.empty()) {
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

HttpResponse StatusServer::Handle(const HttpRequest& request) {
  const bool post = request.path == "/trace" || absl::StartsWith(request.path, "/trust/");
  if (post ? request.method != "POST" : request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = Refusal(405, "method not allowed");
    refusal.headers.emplace_back("Allow", post ? "POST" : "GET, HEAD");
    return refusal;
  }
  if (request.path == "/healthz") return {200, "text/plain", "ok\n", {}};
  if (request.path == "/readyz")
    return options_.ready() ? HttpResponse{200, "text/plain", "ready\n", {}} : Refusal(503, "the job has ended");
  if (request.path == "/") {
    const Status named = access_.CheckHost(request);
    return named.ok() ? Page() : RefusalOf(named);
  }
  if (HttpResponse answer; access_.LogIn(request, &answer)) return answer;
  const StatusOr<Role> role = access_.Admit(request);
  return role.ok() ? Route(request, *role) : RefusalOf(role.status());
}

HttpResponse StatusServer::Route(const HttpRequest& request, Role role) {
  if (request.path == "/status.json") return StatusJson(request, role);
  if (request.path == "/graph.json") return JsonOr(cluster_->Graph(request.parameter("task")));
  if (request.path == "/trace") return Trace(request, role);
  if (request.path == "/metrics") {
    const bool all = request.parameter("cluster") == "1";
    return {200,
            "text/plain; version=0.0.4; charset=utf-8",
            PrometheusText(all ? cluster_->Describe(1e18) : cluster_->DescribeOwn()),
            {}};
  }
  return Refusal(404, "not found; try /, /status.json, /graph.json, /metrics, /healthz, /readyz");
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

HttpResponse StatusServer::StatusJson(const HttpRequest& request, Role role) {
  double since = 0, wait = 0;
  const std::string asked = request.parameter("since"), hold = request.parameter("wait");
  if (!asked.empty() && !absl::SimpleAtod(asked, &since)) return Refusal(400, "since: seconds since the epoch");
  if (!hold.empty() && (!absl::SimpleAtod(hold, &wait) || !(wait >= 0))) return Refusal(400, "wait: seconds");
  if (wait > 0) Hold(wait);
  std::string text = cluster_->Describe(since);
  // What was heard of the others while their answers were being cancelled says nothing.
  if (stop_.IsCancelled()) text = cluster_->DescribeEnd(since);
  // Other sites can send requests here from somebody's browser, but not read the answer.
  if (Includes(role, Role::kClient)) text.insert(1, absl::StrCat("\"action_token\":\"", action_token_, "\","));
  return {200, kJson, std::move(text), {}};
}

HttpResponse StatusServer::Trace(const HttpRequest& request, Role role) {
  if (!Includes(role, Role::kClient)) return Refusal(403, "observers may look, but not trace");
  const absl::string_view origin = request.header("origin");
  if (!origin.empty() && origin != absl::StrCat("http://", request.header("host")))
    return Refusal(403, "only the page itself may ask for this");
  if (!EqualInConstantTime(request.header("x-millstream-action"), action_token_)) {
    return Refusal(403, "send the action_token of /status.json as X-Millstream-Action");
  }
  const std::string task = request.parameter("task");
  return JsonOr(cluster_->Trace(task.empty() ? options_.cluster.own->task() : task, kTraceTimeout));
}

}  // namespace millstream
