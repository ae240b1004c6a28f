// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/rpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "millstream/base/notification.h"
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
  return {path, &RunStepRequest::default_instance(), &RunStepResponse::default_instance(), std::move(run)};
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

TEST(RpcTest, MessageOfManyMegabytes) {
  auto server = StartServer({Method(Echo)});
  auto channel = Dial(*server);
  const std::string large(40 << 20, 'x');
  EXPECT_EQ(*CallEcho(*channel, large), large);
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
  Notification go;
  auto server = StartServer({Method([&](RpcCall& call) {
                               go.Wait();
                               Echo(call);
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

TEST(RpcTest, TokenIsRequired) {
  RpcServerOptions options;
  options.token = "secret";
  auto server = StartServer({Method(Echo)}, options);
  EXPECT_EQ(CallEcho(*Dial(*server), "a").status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CallEcho(*Dial(*server, {.tls = {}, .token = "wrong!"}), "a").status().code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(*CallEcho(*Dial(*server, {.tls = {}, .token = "secret"}), "a"), "a");
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

// A certificate authority and a certificate for localhost, made by the openssl program; false if there is none.
bool MakeCertificates(const std::string& folder) {
  const std::string script = absl::StrCat(
      "cd ", folder,
      " && exec >/dev/null 2>&1 && key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30' && ",
      "openssl req -x509 $key -subj /CN=ca -keyout ca.key -out ca.pem && ",
      "openssl req $key -subj /CN=localhost -keyout key.pem -out request.pem && echo subjectAltName=DNS:localhost > "
      "names && ",
      "openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out "
      "cert.pem");
  return std::system(script.c_str()) == 0;
}

TEST(RpcTest, MutualTls) {
  std::string folder = ::testing::TempDir() + "millstream_tls_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  if (!MakeCertificates(folder)) GTEST_SKIP() << "needs the openssl program";
  RpcServerOptions options;
  options.tls = {.cert = folder + "/cert.pem", .key = folder + "/key.pem", .ca = folder + "/ca.pem", .server_name = ""};
  auto server = StartServer({Method(Echo)}, options);
  RpcTls tls = options.tls;
  tls.server_name = "localhost";
  EXPECT_EQ(*CallEcho(*Dial(*server, {.tls = tls, .token = ""}), "sealed"), "sealed");
  EXPECT_TRUE(absl::IsUnavailable(CallEcho(*Dial(*server), "open").status()));
  tls.cert = tls.key = "";  // nothing to show
  EXPECT_TRUE(absl::IsUnavailable(CallEcho(*Dial(*server, {.tls = tls, .token = ""}), "nobody").status()));
  options.tls.key = folder + "/missing.pem";
  EXPECT_TRUE(absl::IsNotFound(RpcServer::Start(options, {}).status()));
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
