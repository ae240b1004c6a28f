// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_HTTP_SERVER_H_
#define MILLSTREAM_STATUS_HTTP_SERVER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/distributed/link/unique_fd.h"
#include "millstream/status/http_request.h"

namespace millstream {

struct HttpResponse {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // beyond those that every answer has
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;                                      // 0: any free one
  int max_connections = 16;                          // more are told 503 and dropped
  std::chrono::milliseconds request_timeout{5'000};  // from the connection until the whole request is there
  std::chrono::milliseconds answer_timeout{10'000};  // for the peer to take the answer
  std::chrono::milliseconds stop_grace{1'000};       // how long Stop() waits for answers that are being given
};

// A small HTTP/1.1 server for people who look at a running program. Made to be harmless, not fast: one request a
// connection, narrow bounds on everything, threads of its own that nothing else waits for. Thread-safe.
class HttpServer {
 public:
  // Answers one request; may take its time, but must return soon once stopping() is true. Called on several threads at
  // once.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  static StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, Handler handler);
  // Stop().
  ~HttpServer();

  int port() const { return port_; }
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  // Takes no more requests, lets running handlers answer within the grace, then drops all connections and returns when
  // no handler runs. Not from within a handler.
  void Stop();

 private:
  struct Connection {
    UniqueFd socket;
    std::thread thread;
    std::atomic<bool> done{false};
  };
  HttpServer(const HttpServerOptions& options, Handler handler) : options_(options), handler_(std::move(handler)) {}
  void AcceptLoop();
  void Accept(UniqueFd socket);
  void Reap(bool all);
  void AwaitAnswers();
  void Serve(int socket);
  // The request, or the code to refuse it with; 0: just hang up.
  int ReadRequest(int socket, HttpRequest* request);
  void Answer(int socket, const HttpResponse& response, bool head_only);

  const HttpServerOptions options_;
  const Handler handler_;
  int port_ = 0;
  UniqueFd listener_;
  UniqueFd wake_;  // readable once the server stops
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
  Mutex stop_mu_;
  Mutex mu_;
  CondVar connection_ended_;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_HTTP_SERVER_H_
