// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_STATUS_SERVER_H_
#define MILLSTREAM_STATUS_STATUS_SERVER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "millstream/base/cancellation.h"
#include "millstream/base/notification.h"
#include "millstream/status/cluster_status.h"
#include "millstream/status/http_server.h"
#include "millstream/status/page_access.h"

namespace millstream {

// The status page of a task, its data, and metrics for machines, over HTTP (docs/status.md):
//   GET /              the page; has no data in it
//   GET /status.json   the whole cluster (?since=SECONDS: what happened after; &wait=SECONDS: answers so much later, or
//                      as soon as the server stops: then "ended" is true, and only this task is told of)
//   GET /graph.json    (?task=NAME)
//   GET /metrics       this task, for Prometheus (?cluster=1: all tasks)           GET /healthz, /readyz
//   POST /trace        (?task=NAME) traces the next step; needs the token that /status.json gives, so that no other
//   site can ask for it; not for observers
//   POST /trust/...    logs in (page_access.h)
// Everything but the page, which has no data in it, logging in, /healthz and /readyz is for those whom PageAccess lets
// in. Thread-safe.
class StatusServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";  // to bind
    int port = 0;
    PageAccess::Options access;
    ClusterStatus::Options cluster;  // `stop` is set by the server
    std::function<bool()> ready;     // false once the task takes no more work
  };
  static StatusOr<std::unique_ptr<StatusServer>> Start(Options options);
  ~StatusServer() { Stop(); }

  int port() const { return http_->port(); }
  void Stop();

 private:
  explicit StatusServer(Options options);
  HttpResponse Handle(const HttpRequest& request);
  HttpResponse Route(const HttpRequest& request, Role role);
  HttpResponse Page();
  HttpResponse StatusJson(const HttpRequest& request, Role role);
  // Waits, but not for so many requests that others find no connection.
  void Hold(double seconds);
  HttpResponse Trace(const HttpRequest& request, Role role);

  const Options options_;
  const std::string action_token_;
  PageAccess access_;
  Cancellation stop_;
  Notification stopped_;
  std::atomic<int> held_{0};
  std::unique_ptr<ClusterStatus> cluster_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_STATUS_SERVER_H_
