// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/http_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "millstream/distributed/link/sockets.h"

namespace millstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, [this](const HttpRequest& request) {
      ++handled_;
      if (request.path == "/slow") {
        while (!server_->stopping()) std::this_thread::sleep_for(milliseconds(1));
      }
      const std::string body =
          request.path == "/huge" ? std::string(64 << 20, 'x') : request.method + " " + request.path;
      return HttpResponse{200, "text/plain", body, {}};
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  UniqueFd Connect() {
    StatusOr<UniqueFd> socket =
        ConnectTcp("127.0.0.1:" + std::to_string(server_->port()), steady_clock::now() + milliseconds(5000));
    EXPECT_TRUE(socket.ok()) << socket.status();
    return *std::move(socket);
  }
  static void Send(const UniqueFd& socket, const std::string& bytes) {
    (void)SendAll(socket.get(), bytes, -1, steady_clock::now() + milliseconds(5000));
  }
  // Everything until the server hangs up.
  static std::string Rest(const UniqueFd& socket) {
    std::string all;
    for (;;) {
      StatusOr<std::string> byte = ReceiveExactly(socket.get(), 1, steady_clock::now() + milliseconds(10000));
      if (!byte.ok()) {
        EXPECT_FALSE(absl::IsDeadlineExceeded(byte.status()));
        return all;
      }
      all += *byte;
    }
  }
  std::string Exchange(const std::string& request) {
    const UniqueFd socket = Connect();
    Send(socket, request);
    return Rest(socket);
  }
  std::atomic<int> handled_{0};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAndHangsUp) {
  Start();
  const std::string answer = Exchange("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(answer.find("Content-Length: 6\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nGET /a"));
  EXPECT_TRUE(Exchange("HEAD /a HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
  // In pieces, with a body that nobody wants, and with a second request that is not answered.
  const UniqueFd socket = Connect();
  for (const char* piece : {"PO", "ST /b HTTP/1.1\r", "\nContent-Length: 3\r\n\r\nab"}) {
    Send(socket, piece);
    std::this_thread::sleep_for(milliseconds(20));
  }
  Send(socket, "cGET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Rest(socket).ends_with("POST /b"));
  EXPECT_EQ(handled_, 3);
}

TEST_F(HttpServerTest, HostileRequestsAreRefused) {
  Start();
  EXPECT_TRUE(Exchange("GET\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Exchange(std::string(10000, 'a')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(Exchange("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(Exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").starts_with("HTTP/1.1 "));
  EXPECT_EQ(handled_, 0);
  { Connect(); }  // says nothing and goes
  EXPECT_TRUE(Exchange("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, SlowPeersAreDroppedAndTooManyRefused) {
  HttpServerOptions options;
  options.request_timeout = milliseconds(300);
  options.max_connections = 2;
  Start(options);
  const UniqueFd first = Connect(), second = Connect();
  Send(first, "GET /");
  const std::string refusal = Exchange("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(refusal.empty() || refusal.starts_with("HTTP/1.1 503 ")) << refusal;  // a reset may overtake the answer
  EXPECT_EQ(Rest(first), "");
  EXPECT_EQ(Rest(second), "");
  EXPECT_TRUE(Exchange("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, RunningHandlersAnswerWhenItStops) {
  Start();
  const UniqueFd silent = Connect(), slow = Connect();
  Send(slow, "GET /slow HTTP/1.1\r\n\r\n");
  while (handled_ == 0) std::this_thread::sleep_for(milliseconds(1));
  server_->Stop();
  EXPECT_EQ(Rest(silent), "");
  EXPECT_TRUE(Rest(slow).ends_with("\r\n\r\nGET /slow"));
}

TEST_F(HttpServerTest, StopDoesNotWaitForPeersThatDoNotRead) {
  HttpServerOptions options;
  options.stop_grace = milliseconds(50);
  Start(options);
  const UniqueFd deaf = Connect();
  Send(deaf, "GET /huge HTTP/1.1\r\n\r\n");
  while (handled_ == 0) std::this_thread::sleep_for(milliseconds(1));
  const auto start = steady_clock::now();
  server_->Stop();
  EXPECT_LT(steady_clock::now() - start, options.answer_timeout);
}

TEST_F(HttpServerTest, APortThatIsTakenIsAnError) {
  Start();
  HttpServerOptions options;
  options.port = server_->port();
  const Status status = HttpServer::Start(options, [](const HttpRequest&) { return HttpResponse(); }).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(std::to_string(options.port)), std::string::npos) << status;
}

}  // namespace
}  // namespace millstream
