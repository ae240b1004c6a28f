// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/rpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "millstream/base/notification.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/proto/master.pb.h"

namespace millstream {
namespace {

using proto::RunStepRequest;
using proto::RunStepResponse;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr char kPath[] = "/tensorflow.MasterService/RunStep";

RpcMethod Method(std::function<void(RpcCall&)> run, const std::string& path = kPath) {
  return {path, &RunStepRequest::default_instance(), &RunStepResponse::default_instance(), std::move(run),
          Role::kClient};
}

void Echo(RpcCall& call) {
  call.response_as<RunStepResponse>().set_status_error_message(call.request_as<RunStepRequest>().session_handle());
  call.Finish(OkStatus());
}

std::unique_ptr<RpcServer> StartServer(std::vector<RpcMethod> methods, RpcServerOptions options = {}) {
  StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start(options, std::move(methods));
  EXPECT_TRUE(server.ok()) << server.status();
  return std::move(server).value();
}

std::shared_ptr<RpcChannel> Dial(const RpcServer& server, const RpcChannelOptions& options = {}) {
  return RpcChannel::Connect(absl::StrCat("127.0.0.1:", server.port()), options).value();
}

StatusOr<std::string> CallEcho(RpcChannel& channel, const std::string& text, const RpcCallOptions& options = {}) {
  RunStepRequest request;
  RunStepResponse response;
  request.set_session_handle(text);
  RETURN_IF_ERROR(channel.Call(kPath, request, &response, options));
  return response.status_error_message();
}

TEST(RpcTest, AnswersCall) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(*CallEcho(*channel, absl::StrCat("call ", i)), absl::StrCat("call ", i));
}

TEST(RpcTest, ReusedMessagesAreEmpty) {
  auto server = StartServer({Method([](RpcCall& call) {
    if (!call.request_as<RunStepRequest>().session_handle().empty())
      call.response_as<RunStepResponse>().set_status_error_message("x");
    call.Finish(OkStatus());
  })});
  auto channel = Dial(*server);
  EXPECT_EQ(*CallEcho(*channel, "full"), "x");
  EXPECT_EQ(*CallEcho(*channel, ""), "");
}

TEST(RpcTest, MessagesOfAllSizes) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  for (const size_t size : {0, 1, 100, 4090, 4096, 16379, 16384, 65535, 65536, 131072, 1 << 20, 40 << 20}) {
    const std::string text(size, 'x');
    const StatusOr<std::string> answer = CallEcho(*channel, text);
    ASSERT_TRUE(answer.ok()) << size << ": " << answer.status();
    EXPECT_TRUE(*answer == text) << size;
  }
}

TEST(RpcTest, ThreadsShareAChannel) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string text(static_cast<size_t>(i % 20 == 0 ? 300000 : i), static_cast<char>('a' + t));
        if (i % 3 != 0) {
          EXPECT_TRUE(*CallEcho(*channel, text) == text);
          continue;
        }
        RunStepRequest request;
        RunStepResponse response;
        request.set_session_handle(text);
        std::promise<Status> done;
        channel->CallAsync(kPath, request, &response, {}, [&](Status s) { done.set_value(s); });
        EXPECT_EQ(done.get_future().get(), OkStatus());
        EXPECT_TRUE(response.status_error_message() == text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RpcTest, ErrorsOfAnyBytes) {
  const std::string text = "50 % of \xc3\xa4\n\x01 lost";
  auto server = StartServer({Method([&](RpcCall& call) { call.Finish(errors::DataLoss(text)); })});
  EXPECT_EQ(CallEcho(*Dial(*server), "").status(), errors::DataLoss(text));
}

TEST(RpcTest, RestartedServerIsFoundAgain) {
  auto first = StartServer({Method(Echo)});
  RpcServerOptions options;
  options.port = first->port();
  auto channel = Dial(*first);
  EXPECT_EQ(*CallEcho(*channel, "a"), "a");
  first.reset();
  auto second = StartServer({Method(Echo)}, options);
  EXPECT_EQ(*CallEcho(*channel, "b", {.wait_for_ready = true}), "b");
  EXPECT_TRUE(channel->connected());
}

TEST(RpcTest, AwaitServerEndsAtDeadlineAndByCancellation) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  EXPECT_EQ(channel->AwaitServer({.deadline = steady_clock::now() + std::chrono::seconds(20)}), OkStatus());
  const std::string address = channel->address();
  server.reset();
  auto nobody = RpcChannel::Connect(address).value();
  const Status late = nobody->AwaitServer({.deadline = steady_clock::now() + milliseconds(50)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr(address));
  Cancellation cancellation;
  cancellation.StartCancel(errors::Cancelled("enough"));
  EXPECT_EQ(nobody->AwaitServer({.cancellation = &cancellation}), errors::Cancelled("enough"));
}

TEST(RpcTest, AsynchronousCallsEndWithoutServer) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  server.reset();
  RunStepRequest request;
  RunStepResponse response;
  const auto call = [&](const RpcCallOptions& options) {
    std::promise<Status> done;
    channel->CallAsync(kPath, request, &response, options, [&](Status s) { done.set_value(s); });
    return done.get_future().get();
  };
  EXPECT_TRUE(absl::IsUnavailable(call({})));
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(call({.deadline = steady_clock::now() + milliseconds(200), .wait_for_ready = true})));
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.StartCancel(errors::Cancelled("enough")); });
  EXPECT_EQ(call({.cancellation = &cancellation, .wait_for_ready = true}), errors::Cancelled("enough"));
  canceller.join();
}

TEST(RpcTest, KeepsCodeAndMessage) {
  auto server = StartServer({Method([](RpcCall& call) { call.Finish(errors::Aborted("Session x is not found.")); })});
  EXPECT_EQ(CallEcho(*Dial(*server), "").status(), errors::Aborted("Session x is not found."));
}

TEST(RpcTest, CutsLongErrors) {
  auto server = StartServer({Method([](RpcCall& call) { call.Finish(errors::NotFound(std::string(100000, 'e'))); })});
  const Status status = CallEcho(*Dial(*server), "").status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message().size(), 3072u);
}

TEST(RpcTest, AnswersFromAnotherThread) {
  Mutex mu;  // a handler that is slow to return may meet the next one
  std::vector<std::thread> threads;
  auto server = StartServer({Method([&](RpcCall& call) {
    MutexLock lock(mu);
    threads.emplace_back([&call] { Echo(call); });
  })});
  auto channel = Dial(*server);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(*CallEcho(*channel, "later"), "later");
  server->Shutdown();
  for (std::thread& thread : threads) thread.join();
}

TEST(RpcTest, ManyCallsWaitAtOnce) {
  constexpr int kCalls = 100;
  Mutex mu;
  std::vector<RpcCall*> calls;
  auto server = StartServer({Method([&](RpcCall& call) {
    MutexLock lock(mu);
    calls.push_back(&call);
    if (calls.size() < kCalls) return;
    for (RpcCall* waiting : calls) Echo(*waiting);
    calls.clear();
  })});
  auto channel = Dial(*server);
  for (int round = 0; round < 2; ++round) {
    std::vector<RunStepResponse> responses(kCalls);
    std::vector<std::promise<Status>> done(kCalls);
    for (int i = 0; i < kCalls; ++i) {
      RunStepRequest request;
      request.set_session_handle(absl::StrCat(i));
      channel->CallAsync(kPath, request, &responses[i], {}, [&done, i](Status s) { done[i].set_value(s); });
    }
    for (int i = 0; i < kCalls; ++i) {
      EXPECT_EQ(done[i].get_future().get(), OkStatus());
      EXPECT_EQ(responses[i].status_error_message(), absl::StrCat(i));
    }
  }
}

TEST(RpcTest, BlockedHandlersDoNotStopOthers) {
  for (const bool elsewhere : {false, true}) {
    Notification go;
    auto server = StartServer({Method([&](RpcCall& call) {
                                 const auto work = [&go, &call] {
                                   go.Wait();
                                   Echo(call);
                                 };
                                 if (elsewhere) return RunElsewhere(call, CallWait::kLong, work);
                                 work();
                               }),
                               Method(Echo, "/other/Echo")});
    auto channel = Dial(*server);
    std::vector<std::thread> blocked;
    for (int i = 0; i < 6; ++i) blocked.emplace_back([&] { EXPECT_EQ(*CallEcho(*channel, "b"), "b"); });
    RunStepRequest request;
    RunStepResponse response;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(channel->Call("/other/Echo", request, &response), OkStatus());
    go.Notify();
    for (std::thread& thread : blocked) thread.join();
  }
}

TEST(RpcTest, UnknownMethodIsUnimplemented) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  RunStepRequest request;
  RunStepResponse response;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsUnimplemented(channel->Call("/tensorflow.MasterService/Nope", request, &response)));
  }
}

TEST(RpcTest, UnparsableRequestIsInternal) {
  auto server = StartServer({Method(Echo)});
  proto::CreateSessionRequest other;  // its first field is a message, whose bytes a string field refuses
  other.mutable_graph_def()->mutable_versions()->set_producer(-1);
  RunStepResponse response;
  EXPECT_EQ(Dial(*server)->Call(kPath, other, &response), errors::Internal("Unable to parse request"));
}

TEST(RpcTest, CancellationReachesHandlerAndCaller) {
  Notification arrived, cancelled;
  auto server = StartServer({Method([&](RpcCall& call) {
    Cancellation::Token token;
    RpcCall* waiting = &call;
    call.cancellation()->Register(
        [&cancelled, waiting] {
          waiting->Finish(errors::Cancelled("seen"));
          cancelled.Notify();
        },
        &token);
    arrived.Notify();
  })});
  auto channel = Dial(*server);
  Cancellation cancellation;
  std::thread canceller([&] {
    arrived.Wait();
    cancellation.StartCancel(errors::Cancelled("enough"));
  });
  EXPECT_EQ(CallEcho(*channel, "", {.cancellation = &cancellation}).status(), errors::Cancelled("enough"));
  canceller.join();
  cancelled.Wait();
  EXPECT_EQ(CallEcho(*channel, "", {.cancellation = &cancellation}).status(), errors::Cancelled("enough"));
}

TEST(RpcTest, DeadlinePasses) {
  std::atomic<int> arrived{0}, cancelled{0};
  auto server = StartServer({Method([&](RpcCall& call) {
    ++arrived;
    Cancellation::Token token;
    RpcCall* waiting = &call;
    call.cancellation()->Register(
        [&cancelled, waiting] {
          ++cancelled;
          waiting->Finish(errors::Cancelled("late"));
        },
        &token);
  })});
  auto channel = Dial(*server);
  for (int i = 0; i < 3; ++i) {  // on a busy machine not all of them get there in time
    const Status status = CallEcho(*channel, "", {.deadline = steady_clock::now() + milliseconds(50)}).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  }
  server->Shutdown();
  EXPECT_EQ(cancelled, arrived);
}

TEST(RpcTest, NobodyThereNamesAddress) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  const std::string address = channel->address();
  server.reset();
  const Status status = CallEcho(*channel, "").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
}

TEST(RpcTest, WaitsForServerToCome) {
  auto first = StartServer({Method(Echo)});
  const int port = first->port();
  first.reset();
  auto channel = RpcChannel::Connect(absl::StrCat("127.0.0.1:", port)).value();
  EXPECT_TRUE(absl::IsUnavailable(CallEcho(*channel, "").status()));
  auto answer = std::async(std::launch::async, [&] { return CallEcho(*channel, "up", {.wait_for_ready = true}); });
  RpcServerOptions options;
  options.port = port;
  auto second = StartServer({Method(Echo)}, options);
  EXPECT_EQ(*answer.get(), "up");
}

TEST(RpcTest, ListensAtBothFamilies) {
  for (const char* host : {"::1", "[::1]", "0.0.0.0", "localhost"}) {
    RpcServerOptions options;
    options.address = host;
    StatusOr<std::unique_ptr<RpcServer>> server = RpcServer::Start(options, {Method(Echo)});
    if (!server.ok() && absl::StrContains(host, "::1")) GTEST_SKIP() << "no IPv6 here";
    ASSERT_TRUE(server.ok()) << host << ": " << server.status();
    const std::string name = absl::StrContains(host, "::1") ? "[::1]" : "localhost";
    auto channel = RpcChannel::Connect(absl::StrCat(name, ":", (*server)->port())).value();
    const StatusOr<std::string> answer = CallEcho(*channel, "a");
    EXPECT_TRUE(answer.ok()) << host << ": " << answer.status();
  }
}

TEST(RpcTest, PortIsNotShared) {
  auto server = StartServer({Method(Echo)});
  RpcServerOptions options;
  options.port = server->port();
  const Status status = RpcServer::Start(options, {Method(Echo)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(),
            absl::StrCat("Could not start gRPC server: 127.0.0.1:", server->port(), ": Address already in use"));
}

TEST(RpcTest, BadAddressesAreRefused) {
  RpcServerOptions options;
  options.address = "no such host";
  EXPECT_TRUE(absl::IsInvalidArgument(RpcServer::Start(options, {}).status()));
  options.address = "203.0.113.7";
  EXPECT_THAT(std::string(RpcServer::Start(options, {}).status().message()),
              HasSubstr("Cannot assign requested address"));
  options = {};
  options.port = 70000;
  EXPECT_TRUE(absl::IsInvalidArgument(RpcServer::Start(options, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(RpcServer::Start({}, {Method(Echo), Method(Echo)}).status()));
}

TEST(RpcTest, TokenIsProven) {
  RpcServerOptions options;
  options.token = "secret";
  options.name = "/job:ps/replica:0/task:0";
  ServerLimits limits;
  limits.trusts_same_user = false;
  GrpcServer server(options, limits);
  RpcMethod for_tasks = Method(Echo, "/for/Tasks");
  for_tasks.role = Role::kTask;
  ASSERT_EQ(server.Start({Method(Echo), for_tasks}), OkStatus());
  RpcChannelOptions channel;
  EXPECT_EQ(CallEcho(*Dial(server), "a").status().code(), absl::StatusCode::kUnauthenticated);
  channel.token = "wrong!";
  EXPECT_EQ(CallEcho(*Dial(server, channel), "a").status().code(), absl::StatusCode::kUnauthenticated);
  channel.token = "secret";
  auto client = Dial(server, channel);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*CallEcho(*client, "a"), "a");
  RunStepRequest request;
  RunStepResponse response;
  EXPECT_TRUE(absl::IsPermissionDenied(client->Call("/for/Tasks", request, &response)));
  channel.role = Role::kTask;
  channel.server = "/job:ps/replica:0/task:0";
  EXPECT_EQ(Dial(server, channel)->Call("/for/Tasks", request, &response), OkStatus());
  channel.server = "/job:ps/replica:0/task:1";  // another task has taken the address
  EXPECT_FALSE(Dial(server, channel)->Call("/for/Tasks", request, &response).ok());
}

TEST(RpcTest, ServerWithoutTheTokenIsNotCalled) {
  auto server = StartServer({Method(Echo)});
  RpcChannelOptions channel;
  channel.token = "secret";
  EXPECT_EQ(CallEcho(*Dial(*server, channel), "a").status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(RpcTest, SameUserNeedsNoToken) {
  RpcServerOptions options;
  options.token = "secret";
  auto server = StartServer({Method(Echo)}, options);
  EXPECT_EQ(*CallEcho(*Dial(*server), "a"), "a");
}

TEST(RpcTest, AuthorizeSeesPeerAndRefuses) {
  RpcServerOptions options;
  options.authorize = [](RpcCall& call) {
    EXPECT_TRUE(call.peer_is_loopback());
    EXPECT_THAT(call.peer(), HasSubstr("127.0.0.1:"));
    return call.metadata("user-agent").empty() ? errors::Internal("no agent") : errors::PermissionDenied("not you");
  };
  auto server = StartServer({Method(Echo)}, options);
  EXPECT_EQ(CallEcho(*Dial(*server), "a").status(), errors::PermissionDenied("not you"));
}

// A certificate authority and a certificate for localhost, made by the openssl program; false if there is none. `more`:
// names that the certificate carries besides, each with a comma before it.
bool MakeCertificates(const std::string& folder, const std::string& more = "") {
  const std::string script = absl::StrCat(
      "cd ", folder,
      " && exec >/dev/null 2>&1 && key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30' && ",
      "openssl req -x509 $key -subj /CN=ca -keyout ca.key -out ca.pem && ",
      "openssl req $key -subj /CN=localhost -keyout key.pem -out request.pem && echo subjectAltName=DNS:localhost",
      more, " > names && ",
      "openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out "
      "cert.pem");
  return std::system(script.c_str()) == 0;
}

TEST(RpcTest, MutualTls) {
  std::string folder = ::testing::TempDir() + "millstream_tls_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(MakeCertificates(folder)) << "needs the openssl program: run tools/setup.sh build";
  RpcServerOptions options;
  options.tls = {.cert = folder + "/cert.pem", .key = folder + "/key.pem", .ca = folder + "/ca.pem", .server_name = ""};
  auto server = StartServer({Method(Echo)}, options);
  RpcTls tls = options.tls;
  tls.server_name = "localhost";
  RpcChannelOptions channel;
  channel.tls = tls;
  EXPECT_EQ(*CallEcho(*Dial(*server, channel), "sealed"), "sealed");
  const std::string large(5 << 20, 'x');
  EXPECT_TRUE(*CallEcho(*Dial(*server, channel), large) == large);
  EXPECT_TRUE(absl::IsUnavailable(CallEcho(*Dial(*server), "open").status()));
  channel.tls.server_name = "elsewhere";
  EXPECT_TRUE(absl::IsUnavailable(CallEcho(*Dial(*server, channel), "other name").status()));
  channel.tls = tls;
  channel.tls.cert = channel.tls.key = "";  // nothing to show
  EXPECT_TRUE(absl::IsUnavailable(CallEcho(*Dial(*server, channel), "nobody").status()));
  // New certificates are used without a restart, for new connections.
  ASSERT_TRUE(MakeCertificates(folder));
  channel.tls = tls;
  EXPECT_EQ(*CallEcho(*Dial(*server, channel), "renewed"), "renewed");
  options.tls.key = folder + "/missing.pem";
  EXPECT_TRUE(absl::IsNotFound(RpcServer::Start(options, {}).status()));
  std::filesystem::remove_all(folder);
}

// With certificates that name tasks, who holds the certificate of another task cannot take the place of the one meant.
TEST(RpcTest, TheServersCertificateIsThatOfTheTaskMeant) {
  std::string folder = ::testing::TempDir() + "millstream_tls_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto call = [&](const std::string& names, const std::string& meant) {
    EXPECT_TRUE(MakeCertificates(folder, names));
    RpcServerOptions options;
    options.tls = {
        .cert = folder + "/cert.pem", .key = folder + "/key.pem", .ca = folder + "/ca.pem", .server_name = ""};
    auto server = StartServer({Method(Echo)}, options);
    RpcChannelOptions channel;
    channel.tls = options.tls;
    channel.tls.server_name = "localhost";
    channel.server = meant;
    return CallEcho(*Dial(*server, channel), "sealed").status();
  };
  ASSERT_TRUE(MakeCertificates(folder)) << "needs the openssl program: run tools/setup.sh build";
  const std::string ps0 = "/job:ps/replica:0/task:0", ps1 = "/job:ps/replica:0/task:1";
  EXPECT_EQ(call("", ps0), OkStatus());  // of any task
  EXPECT_EQ(call(",URI:millstream:task/ps/0", ps0), OkStatus());
  EXPECT_EQ(call(",URI:millstream:task/ps/0,URI:millstream:task/ps/1", ps1), OkStatus());
  EXPECT_EQ(call(",URI:millstream:task/ps/0", ""), OkStatus());  // a client that names an address alone
  const Status other = call(",URI:millstream:task/ps/0", ps1);
  EXPECT_TRUE(absl::IsUnauthenticated(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr(ps1));
  // A client of the job is no server of it.
  EXPECT_TRUE(absl::IsUnauthenticated(call(",URI:millstream:client", ps0)));
  EXPECT_TRUE(absl::IsUnauthenticated(call(",URI:millstream:client", "")));
  std::filesystem::remove_all(folder);
}

TEST(RpcTest, ShutdownCancelsRunningCalls) {
  Notification arrived;
  auto server = StartServer({Method([&](RpcCall& call) {
    Cancellation::Token token;
    RpcCall* waiting = &call;
    call.cancellation()->Register([waiting] { waiting->Finish(errors::Cancelled("down")); }, &token);
    arrived.Notify();
  })});
  auto channel = Dial(*server);
  auto answer = std::async(std::launch::async, [&] { return CallEcho(*channel, ""); });
  arrived.Wait();
  server->Shutdown();
  EXPECT_FALSE(answer.get().ok());
}

}  // namespace
}  // namespace millstream
