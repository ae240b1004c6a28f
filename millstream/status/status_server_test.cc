// SPDX-License-Identifier: Apache-2.0
// The whole way from a server to an HTTP answer, in one process.
#include "millstream/status/status_server.h"

#include <gtest/gtest.h>

#include "absl/strings/strip.h"
#include "google/protobuf/wrappers.pb.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/status/json_text.h"
#include "millstream/status/server_status.h"
#include "millstream/status/start_server.h"

namespace millstream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Head and body of the answer.
std::string Fetch(int port, const std::string& request) {
  const auto deadline = steady_clock::now() + milliseconds(20'000);
  StatusOr<UniqueFd> socket = ConnectTcp("127.0.0.1:" + std::to_string(port), deadline);
  if (!socket.ok()) return socket.status().ToString();
  SendAll(socket->get(), request, -1, deadline).IgnoreError();
  std::string answer;
  while (true) {
    StatusOr<std::string> byte = ReceiveExactly(socket->get(), 1, deadline);
    if (!byte.ok()) return answer;
    answer += *byte;
  }
}

std::string Get(int port, const std::string& path, const std::string& headers = "Host: localhost\r\n") {
  return Fetch(port, "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
}

std::string Body(const std::string& answer) { return answer.substr(std::min(answer.size(), FindHeadEnd(answer))); }
std::string Code(const std::string& answer) { return answer.substr(9, 3); }

StatusOr<ServerOptions> OptionsWithPage() {
  ServerOptions options;
  ASSIGN_OR_RETURN(options.cluster, ClusterSpec::Make({{"local", {{0, "localhost:0"}}}}));
  options.job_name = "local";
  options.status_port = 0;
  return options;
}

StatusOr<std::unique_ptr<Server>> StartWithPage() {
  ASSIGN_OR_RETURN(const ServerOptions options, OptionsWithPage());
  return StartServer(options);
}

// Of the status page; -1 if there is none.
int PortOf(const Server& server) {
  const StatusOr<HostPort> place =
      ParseHostPort(absl::StripSuffix(absl::StripPrefix(server.status_url(), "http://"), "/"));
  return place.ok() ? place->port : -1;
}

TEST(StatusServerTest, TellsOfItsTask) {
  StatusOr<std::unique_ptr<Server>> server = StartWithPage();
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = PortOf(**server);
  ASSERT_GT(port, 0);
  EXPECT_EQ((*server)->status_url(), absl::StrCat("http://127.0.0.1:", port, "/"));
  const Json status = ParseJson(Body(Get(port, "/status.json")));
  ASSERT_EQ(status["tasks"].size(), 1u);
  EXPECT_EQ(status["tasks"][0]["health"], "up");
  EXPECT_EQ(status["tasks"][0]["task"], (*server)->task());
  EXPECT_EQ(Code(Get(port, "/graph.json")), "404");
  EXPECT_EQ(Body(Get(port, "/healthz", "")), "ok\n");
  EXPECT_EQ(Body(Get(port, "/readyz", "")), "ready\n");
  EXPECT_NE(Body(Get(port, "/metrics")).find("millstream_up"), std::string::npos);
  (*server)->EndJob("test");
  EXPECT_EQ(Code(Get(port, "/readyz", "")), "503");
  EXPECT_EQ(ParseJson(Body(Get(port, "/status.json")))["tasks"][0]["health"], "done");
}

TEST(StatusServerTest, OnlyByTheNameOfThisMachine) {
  StatusOr<std::unique_ptr<Server>> server = StartWithPage();
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = PortOf(**server);
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1:5", "127.1.2.3", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(Code(Get(port, "/", absl::StrCat("Host: ", host, "\r\n"))), "200") << host;
  }
  for (const char* host : {"", ":", ":80", "example.com", "127.example.com", "localhost.example.com",
                           "127.0.0.1.example.com", "[", "[]:", "]:1"}) {
    EXPECT_EQ(Code(Get(port, "/", absl::StrCat("Host: ", host, "\r\n"))), "403") << host;
    EXPECT_EQ(Code(Get(port, "/status.json", absl::StrCat("Host: ", host, "\r\n"))), "403") << host;
  }
  EXPECT_EQ(Code(Get(port, "/", "")), "403");
}

// The observer behind the page, which also shows the master that it observes.
class ObserverWithMaster final : public ServerObserver {
 public:
  explicit ObserverWithMaster(Master** master) : master_(master) {}

  void LinkOpened(PeerLink& link) override { status_.LinkOpened(link); }
  void LinkClosed(PeerLink& link, const Status& why) override { status_.LinkClosed(link, why); }
  void StepFailed(const Status& status) override { status_.StepFailed(status); }
  std::shared_ptr<FetchObserver> ObserveFetch(const std::string& tensor, DType dtype, bool trains) override {
    return status_.ObserveFetch(tensor, dtype, trains);
  }
  void Attach(const ObservedServer& server) override {
    *master_ = server.master;
    status_.Attach(server);
  }
  Status Serve(const ClusterSpec& cluster) override { return status_.Serve(cluster); }
  void StopServing() override { status_.StopServing(); }
  void Detach() override { status_.Detach(); }
  StatusOr<std::string> Answer(const std::string& question) override { return status_.Answer(question); }
  std::string url() const override { return status_.url(); }

 private:
  Master** const master_;
  ServerStatus status_;
};

TEST(StatusServerTest, StopsWhileSomebodyWaitsForATrace) {
  Master* master = nullptr;
  StatusOr<std::unique_ptr<Server>> server =
      Server::Start(*OptionsWithPage(), std::make_unique<ObserverWithMaster>(&master));
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = PortOf(**server);
  const std::string token = ParseJson(Body(Get(port, "/status.json")))["action_token"].get<std::string>();
  std::string answer;
  std::thread waiting([&] {
    answer = Fetch(port,
                   absl::StrCat("POST /trace HTTP/1.1\r\nHost: localhost\r\nX-Millstream-Action: ", token, "\r\n\r\n"));
  });
  while (!master->traces().wanted()) std::this_thread::sleep_for(milliseconds(1));
  (*server)->Stop();
  waiting.join();
  EXPECT_EQ(Code(answer), "503") << answer;  // 504 would be the end of its patience
}

// Every server that StartServer() starts answers other tasks, with or without a page of its own.
TEST(StatusServerTest, WithoutAPageOtherTasksAreAnswered) {
  ServerOptions options;
  options.cluster = *ClusterSpec::Make({{"local", {{0, "localhost:0"}}}});
  options.job_name = "local";
  StatusOr<std::unique_ptr<Server>> server = StartServer(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->status_url(), "");
  const auto channel = RpcChannel::Connect(std::string(absl::StripPrefix((*server)->target(), "grpc://")), {});
  ASSERT_TRUE(channel.ok()) << channel.status();
  google::protobuf::StringValue request;
  google::protobuf::BytesValue response;
  request.set_value("since=0");
  const Status status = (*channel)->Call(TaskMethod("Status"), request, &response, {});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ParseJson(response.value())["task"], (*server)->task());
}

// A page that was asked for and cannot be there is an error, not a surprise.
TEST(StatusServerTest, APageNeedsAnObserver) {
  ServerOptions options;
  options.cluster = *ClusterSpec::Make({{"local", {{0, "localhost:0"}}}});
  options.job_name = "local";
  options.status_port = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(Server::Start(options).status()));
}

TEST(StatusServerTest, AHeldRequestIsAnsweredWhenTheServerStops) {
  StatusOr<std::unique_ptr<Server>> server = StartWithPage();
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = PortOf(**server);
  EXPECT_EQ(Code(Get(port, "/status.json?wait=soon")), "400");
  EXPECT_EQ(Code(Get(port, "/status.json?wait=-1")), "400");
  EXPECT_EQ(Code(Get(port, "/status.json?wait=nan")), "400");
  EXPECT_FALSE(ParseJson(Body(Get(port, "/status.json?wait=0.01"))).contains("ended"));
  // More than are held: the rest is answered at once, and a connection is left for others.
  std::vector<std::thread> clients;
  std::atomic<int> ended{0}, at_once{0};
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back([&] {
      const Json last = ParseJson(Body(Get(port, "/status.json?since=0&wait=30")));
      if (!last.is_object()) return;
      if (!last.contains("ended")) {
        ++at_once;
        return;
      }
      EXPECT_EQ(last["ended"], true);
      EXPECT_EQ(last["tasks"].size(), 1u);
      EXPECT_EQ(last["tasks"][0]["health"], "done");
      EXPECT_FALSE(last["tasks"][0]["history"].empty());
      ++ended;
    });
  }
  while (at_once < 2) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(Body(Get(port, "/healthz", "")), "ok\n");
  (*server)->Stop();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(at_once, 2);
  EXPECT_EQ(ended, 8);
}

TEST(StatusServerTest, BeyondLoopbackOnlyWithAToken) {
  ServerOptions options;
  options.cluster = *ClusterSpec::Make({{"local", {{0, "localhost:0"}}}});
  options.job_name = "local";
  options.status_port = 0;
  options.status_address = "0.0.0.0";
  EXPECT_TRUE(absl::IsInvalidArgument(options.Check()));
  options.token = "token";
  EXPECT_TRUE(options.Check().ok());
}

}  // namespace
}  // namespace millstream
