// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/trust/peer_user.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

const char* Reason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

std::string Head(const HttpResponse& response) {
  std::string head =
      absl::StrCat("HTTP/1.1 ", response.code, " ", Reason(response.code), "\r\nContent-Type: ", response.type,
                   "\r\nContent-Length: ", response.body.size(),
                   "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                   "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
                   "Cross-Origin-Resource-Policy: same-origin\r\n");
  for (const auto& [name, value] : response.headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
  return head + "\r\n";
}

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, Handler handler) {
  std::unique_ptr<HttpServer> server(new HttpServer(options, std::move(handler)));
  server->port_ = options.port;
  ASSIGN_OR_RETURN(server->listener_, ListenTcp(options.address, &server->port_));
  server->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->wake_) return errors::ResourceExhausted("out of file descriptors");
  server->acceptor_ = std::thread([raw = server.get()] { raw->AcceptLoop(); });
  return server;
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Stop() {
  MutexLock stop(stop_mu_);
  if (!acceptor_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof(one)) < 0) LogWarning("status page: cannot wake its thread");
  acceptor_.join();
  listener_.Close();
  AwaitAnswers();
  Reap(/*all=*/true);
}

void HttpServer::AwaitAnswers() {
  const auto ended = [](const Connection& connection) { return connection.done.load(std::memory_order_acquire); };
  const auto deadline = Clock::now() + options_.stop_grace;
  MutexLock lock(mu_);
  for (Connection& connection : connections_) ::shutdown(connection.socket.get(), SHUT_RD);
  while (!std::all_of(connections_.begin(), connections_.end(), ended)) {
    if (!connection_ended_.WaitUntil(mu_, deadline)) break;
  }
  for (Connection& connection : connections_) ::shutdown(connection.socket.get(), SHUT_RDWR);
}

void HttpServer::AcceptLoop() {
  while (!stopping()) {
    pollfd wanted[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    // Now and then even if nothing comes: threads of past connections are to be joined.
    if (poll(wanted, 2, 10'000) < 0 && errno != EINTR) return;
    Reap(/*all=*/false);
    if (stopping() || (wanted[0].revents & POLLIN) == 0) continue;
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket)
      Accept(std::move(socket));
    else if (errno == EMFILE || errno == ENFILE)
      poll(nullptr, 0, 100);  // the connection stays in the queue: do not spin
  }
}

void HttpServer::Accept(UniqueFd socket) {
  MutexLock lock(mu_);
  if (stopping()) return;
  if (connections_.size() >= static_cast<size_t>(options_.max_connections)) {
    const std::string refusal = Head({503, "text/plain", "", {}});
    (void)::send(socket.get(), refusal.data(), refusal.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  Connection& connection = connections_.emplace_back();
  connection.socket = std::move(socket);
  connection.thread = std::thread([this, &connection] {
    Serve(connection.socket.get());
    ::shutdown(connection.socket.get(), SHUT_RDWR);
    MutexLock ended(mu_);
    connection.done.store(true, std::memory_order_release);
    connection_ended_.NotifyAll();
  });
}

void HttpServer::Reap(bool all) {
  std::list<Connection> ended;
  {
    MutexLock lock(mu_);
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto next = std::next(it);
      if (all || it->done.load(std::memory_order_acquire)) ended.splice(ended.end(), connections_, it);
      it = next;
    }
  }
  for (Connection& connection : ended) connection.thread.join();
}

void HttpServer::Serve(int socket) {
  const std::optional<uid_t> user = PeerUser(socket);
  HttpRequest request;
  const int code = ReadRequest(socket, &request);
  if (code == 0 || stopping()) return;
  const bool head_only = request.method == "HEAD";
  if (code != 200)
    return Answer(socket, {code, "text/plain; charset=utf-8", absl::StrCat(Reason(code), "\n"), {}}, false);
  request.peer_user = user;
  Answer(socket, handler_(request), head_only);
}

int HttpServer::ReadRequest(int socket, HttpRequest* request) {
  const Deadline deadline = Clock::now() + options_.request_timeout;
  std::string bytes;
  size_t head = FindHeadEnd(bytes);
  size_t wanted = 0;
  for (;;) {
    if (head == std::string::npos && (head = FindHeadEnd(bytes)) != std::string::npos) {
      if (const int code = ParseHttpRequest(absl::string_view(bytes).substr(0, head), request); code != 200)
        return code;
      wanted = head + request->content_length;
    }
    if (head != std::string::npos && bytes.size() >= wanted) {  // what else comes is not looked at
      request->body = bytes.substr(head, request->content_length);
      return 200;
    }
    if (head == std::string::npos && bytes.size() >= HttpRequest::kMaxHead) return 431;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || stopping()) return 0;
    pollfd ready = {socket, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left)) < 0 && errno != EINTR) return 0;
    if (ready.revents == 0) continue;
    char buffer[2048];
    const ssize_t n = ::recv(socket, buffer, sizeof(buffer), 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return 0;
    if (n > 0) bytes.append(buffer, static_cast<size_t>(n));
  }
}

void HttpServer::Answer(int socket, const HttpResponse& response, bool head_only) {
  std::string bytes = Head(response);
  if (!head_only) bytes += response.body;
  if (!SendAll(socket, bytes, -1, Clock::now() + options_.answer_timeout).ok()) return;
  ::shutdown(socket, SHUT_WR);
  // Closing at once would throw away what the peer has not read, if it sent more than was asked for.
  char rest[512];
  pollfd ready = {socket, POLLIN, 0};
  for (int i = 0; i < 16 && poll(&ready, 1, 200) > 0 && ::recv(socket, rest, sizeof(rest), 0) > 0; ++i) {
  }
}

}  // namespace millstream
