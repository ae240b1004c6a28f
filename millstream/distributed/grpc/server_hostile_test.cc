// SPDX-License-Identifier: Apache-2.0
// What strangers may try at a server's socket: each attack ends for itself alone, and the server goes on serving.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/testing/raw_client.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/proto/master.pb.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;
using proto::RunStepRequest;
using proto::RunStepResponse;
using testing::Frame;
using ::testing::HasSubstr;
using testing::RawClient;
using testing::RawStream;

constexpr char kEcho[] = "/test/Echo";
constexpr char kWait[] = "/test/Wait";

// A server with a method that answers, and one that waits until it is cancelled.
struct Victim {
  explicit Victim(const ServerLimits& limits = {}, RpcServerOptions options = {}) : server(options, limits) {
    const Status status =
        server.Start({{kEcho, &RunStepRequest::default_instance(), &RunStepResponse::default_instance(),
                       [](RpcCall& call) { call.Finish(OkStatus()); }, Role::kClient},
                      {kWait, &RunStepRequest::default_instance(), &RunStepResponse::default_instance(),
                       [this](RpcCall& call) { RunElsewhere(call, CallWait::kLong, [this, &call] { Wait(call); }); },
                       Role::kClient}});
    EXPECT_EQ(status, OkStatus());
  }
  void Wait(RpcCall& call) {
    ++waiting;
    Notification cancelled;
    Cancellation::Token token;
    if (call.cancellation()->Register([&] { cancelled.Notify(); }, &token)) cancelled.Wait();
    ++ended;
    call.Finish(call.cancellation()->status());
  }
  Status Call(const std::string& token = "") {
    RunStepRequest request;
    RunStepResponse response;
    RpcChannelOptions options;
    options.token = token;
    return RpcChannel::Connect(absl::StrCat("127.0.0.1:", server.port()), options)
        .value()
        ->Call(kEcho, request, &response, {.deadline = std::chrono::steady_clock::now() + 20s});
  }
  std::atomic<int> waiting{0}, ended{0};
  GrpcServer server;
};

std::shared_ptr<RawStream> Request(const std::string& body, bool ends = true) {
  auto stream = std::make_shared<RawStream>();
  stream->to_send = body;
  stream->ends = ends;
  return stream;
}

std::string Prefix(uint32_t length, char flag = 0) {
  std::string prefix(1, flag);
  for (const int shift : {24, 16, 8, 0}) prefix += static_cast<char>(length >> shift);
  return prefix;
}

bool Eventually(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!is_so() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
  return is_so();
}

TEST(GrpcHostileTest, CompressedRequestsAreUnimplemented) {
  Victim victim;
  RawClient client(victim.server.port());
  auto encoded = Request(Prefix(100) + std::string(100, 'z'));
  client.Start(encoded, kEcho, {{"grpc-encoding", "gzip"}});
  auto flagged = Request(Prefix(100, 1) + std::string(100, 'z'));
  client.Start(flagged, kEcho);
  ASSERT_TRUE(client.PumpUntil([&] { return encoded->closed && flagged->closed; }));
  EXPECT_EQ(encoded->headers["grpc-status"], "12");
  EXPECT_EQ(encoded->headers["grpc-accept-encoding"], "identity");
  EXPECT_EQ(flagged->headers["grpc-status"], "12");
  auto plain = Request(Prefix(0));
  client.Start(plain, kEcho, {{"grpc-encoding", "identity"}});
  ASSERT_TRUE(client.PumpUntil([&] { return plain->closed; }));
  EXPECT_EQ(plain->headers["grpc-status"], "0");
}

TEST(GrpcHostileTest, LargeMessagesAreRefusedAtTheirPrefix) {
  RpcServerOptions options;
  options.max_message_bytes = 1000;
  Victim victim({}, options);
  RawClient client(victim.server.port());
  auto large = Request(Prefix(1001), /*ends=*/false);
  client.Start(large, kEcho);
  ASSERT_TRUE(client.PumpUntil([&] { return large->closed; }));
  EXPECT_EQ(large->headers["grpc-status"], "8");
  EXPECT_EQ(large->headers["grpc-message"], "Received message larger than max (1001 vs. 1000)");
  EXPECT_EQ(victim.server.quota()->taken(), 0u);
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, AnnouncedBytesTakeNoMemoryAndAllTogetherNoMoreThanTheQuota) {
  ServerLimits limits;
  limits.max_request_bytes = 3 << 20;
  Victim victim(limits);
  RawClient first(victim.server.port()), second(victim.server.port());
  auto announced = Request(Prefix(2'000'000'000) + "x", /*ends=*/false);
  first.Start(announced, kEcho);
  ASSERT_TRUE(Eventually([&] { return victim.server.quota()->taken() > 0; }));
  EXPECT_LE(victim.server.quota()->taken(), 65536u);
  auto large = Request(Prefix(4 << 20) + std::string(4 << 20, 'x'));
  second.Start(large, kEcho);
  ASSERT_TRUE(second.PumpUntil([&] { return large->closed; }));
  EXPECT_EQ(large->headers["grpc-status"], "8");
  first.Reset(*announced);
  EXPECT_TRUE(Eventually([&] { return victim.server.quota()->taken() == 0; }));
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, EndlessHeadersEndTheConnection) {
  Victim victim;
  RawClient client(victim.server.port());
  // A literal header that is added to the table, then nothing but references to it: a few bytes stand for gigabytes.
  std::string block = "\x40\x01x\x7f\xa1\x1e" + std::string(4000, 'y');
  std::string references(16000, '\xbe');
  ASSERT_TRUE(client.SendRaw(Frame(NGHTTP2_HEADERS, 0, 1, block)));
  int sent = 0;
  while (sent < 10000 && client.SendRaw(Frame(NGHTTP2_CONTINUATION, 0, 1, references))) ++sent;
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, EmptyContinuationsEndTheConnection) {
  Victim victim;
  RawClient client(victim.server.port());
  ASSERT_TRUE(client.SendRaw(Frame(NGHTTP2_HEADERS, 0, 1, "\x83")));
  for (int i = 0; i < 100000 && client.SendRaw(Frame(NGHTTP2_CONTINUATION, 0, 1, "")); ++i) {
  }
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, TooManyHeadersAreRefused) {
  Victim victim;
  RawClient client(victim.server.port());
  auto stream = Request(Prefix(0));
  const std::string value(20000, 'v');
  client.Start(stream, kEcho, {{"x-large", value, true}});
  ASSERT_TRUE(client.PumpUntil([&] { return stream->closed; }));
  EXPECT_EQ(stream->headers["grpc-status"], "8");
  auto next = Request(Prefix(0));
  client.Start(next, kEcho);
  ASSERT_TRUE(client.PumpUntil([&] { return next->closed; }));
  EXPECT_EQ(next->headers["grpc-status"], "0");
}

TEST(GrpcHostileTest, RapidResetsEndTheConnection) {
  Victim victim;
  RawClient client(victim.server.port());
  bool open = true;
  for (int i = 0; i < 20000 && open; ++i) {
    auto stream = Request("", /*ends=*/false);
    client.Start(stream, kEcho);
    client.Reset(*stream);
    if (i % 500 == 0) open = !client.IsClosed();
  }
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, FloodsOfFramesEndTheConnection) {
  Victim victim;
  const std::vector<std::string> frames = {Frame(NGHTTP2_PING, 0, 0, "12345678"), Frame(NGHTTP2_SETTINGS, 0, 0, ""),
                                           Frame(NGHTTP2_PRIORITY, 0, 1, std::string("\0\0\0\3\0", 5)),
                                           Frame(0x77, 0, 0, "")};
  for (const std::string& frame : frames) {
    RawClient client(victim.server.port());
    std::string many;
    for (int i = 0; i < 1000; ++i) many += frame;
    bool open = true;
    for (int i = 0; i < 100 && open; ++i) open = client.SendRaw(many);
    const bool is_known = frame[3] != 0x77;  // others are passed over
    EXPECT_TRUE(!is_known || client.WaitForClose()) << static_cast<int>(frame[3]);
  }
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, EmptyDataFramesEndTheConnection) {
  Victim victim;
  RawClient client(victim.server.port());
  auto stream = Request("", /*ends=*/false);
  client.Start(stream, kEcho);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += Frame(NGHTTP2_DATA, 0, 1, "");
  for (int i = 0; i < 100 && client.SendRaw(many); ++i) {
  }
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, StreamsHaveALimit) {
  ServerLimits limits;
  limits.connection.max_streams = 10;
  Victim victim(limits);
  RawClient client(victim.server.port());
  std::vector<std::shared_ptr<RawStream>> streams;
  for (int i = 0; i < 11; ++i) {
    streams.push_back(Request(Prefix(0)));
    client.Start(streams.back(), kWait);
  }
  ASSERT_TRUE(client.PumpUntil([&] { return streams.back()->closed; }));
  EXPECT_EQ(streams.back()->error, static_cast<uint32_t>(NGHTTP2_REFUSED_STREAM));
  EXPECT_FALSE(streams.front()->closed);
}

TEST(GrpcHostileTest, SlowHandshakesAndHeadersEnd) {
  ServerLimits limits;
  limits.handshake_timeout = 300ms;
  Victim victim(limits);
  RawClient silent(victim.server.port(), /*greets=*/false);
  RawClient begun(victim.server.port(), /*greets=*/false);
  ASSERT_TRUE(begun.SendRaw("PRI * HT"));
  RawClient headers(victim.server.port());
  ASSERT_TRUE(headers.SendRaw(Frame(NGHTTP2_HEADERS, 0, 1, "\x83")));
  EXPECT_TRUE(silent.WaitForClose());
  EXPECT_TRUE(begun.WaitForClose());
  EXPECT_TRUE(headers.WaitForClose());
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, StalledRequestsAndUnusedConnectionsEnd) {
  ServerLimits limits;
  limits.stalled_request_timeout = limits.unused_timeout = 300ms;
  Victim victim(limits);
  RawClient unused(victim.server.port()), stalled(victim.server.port()), waiting(victim.server.port());
  auto request = Request(Prefix(100) + "x", /*ends=*/false);
  stalled.Start(request, kEcho);
  auto call = Request(Prefix(0));
  waiting.Start(call, kWait);
  EXPECT_TRUE(unused.WaitForClose());
  EXPECT_TRUE(stalled.WaitForClose());
  EXPECT_FALSE(waiting.IsClosed());
}

TEST(GrpcHostileTest, OtherProtocolsAreTurnedAway) {
  Victim victim;
  RawClient http1(victim.server.port(), /*greets=*/false);
  ASSERT_TRUE(http1.SendRaw("GET / HTTP/1.1\r\nHost: here\r\n\r\n"));
  EXPECT_TRUE(http1.WaitForClose());
  RawClient client(victim.server.port());
  auto get = Request("");
  client.Start(get, "/", {}, "GET");
  ASSERT_TRUE(client.PumpUntil([&] { return get->closed; }));
  EXPECT_EQ(get->headers[":status"], "405");
}

TEST(GrpcHostileTest, IdleConnectionsMakeRoom) {
  ServerLimits limits;
  limits.max_connections_per_peer = 20;
  Victim victim(limits);
  RawClient busy(victim.server.port());
  auto call = Request(Prefix(0));
  busy.Start(call, kWait);
  ASSERT_TRUE(Eventually([&] { return victim.waiting == 1; }));
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 60; ++i) idle.push_back(std::make_unique<RawClient>(victim.server.port(), i % 2 == 0));
  EXPECT_EQ(victim.Call(), OkStatus());
  EXPECT_TRUE(Eventually([&] {
    return std::count_if(idle.begin(), idle.end(), [](const auto& client) { return !client->IsClosed(); }) <= 20;
  }));
  EXPECT_FALSE(busy.IsClosed());
}

TEST(GrpcHostileTest, ThousandIdleConnectionsDoNotEndAccepting) {
  Victim victim;
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < 4096) GTEST_SKIP() << "needs 4096 descriptors";
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 1100; ++i) idle.push_back(std::make_unique<RawClient>(victim.server.port(), /*greets=*/false));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, AcceptingGoesOnAfterDescriptorsRanOut) {
  Victim victim;
  ASSERT_EQ(victim.Call(), OkStatus());
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // taken before they run out
  rlimit low = limit;
  low.rlim_cur = static_cast<rlim_t>(client.get()) + 1;
  std::vector<UniqueFd> fill;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) fill.emplace_back(fd);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(victim.server.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  char byte;
  EXPECT_LE(::recv(client.get(), &byte, 1, 0), 0);  // refused, not left hanging
  fill.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, ClientThatVanishedIsNoticed) {
  ServerLimits limits;
  limits.connection.keepalive_interval = 200ms;
  limits.connection.keepalive_timeout = 300ms;
  Victim victim(limits);
  RawClient client(victim.server.port());
  auto call = Request(Prefix(0));
  client.Start(call, kWait);
  ASSERT_TRUE(Eventually([&] { return victim.waiting == 1; }));
  EXPECT_TRUE(Eventually([&] { return victim.ended == 1; }));  // it answers no ping
}

TEST(GrpcHostileTest, ClientsThatLeaveWhileTheirCallsWaitStopNothing) {
  Victim victim;
  {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 70; ++i) {
      clients.push_back(std::make_unique<RawClient>(victim.server.port()));
      clients.back()->Start(Request(Prefix(0)), kWait);
    }
    ASSERT_TRUE(Eventually([&] { return victim.waiting == 70; }));
    EXPECT_EQ(victim.Call(), OkStatus());
  }
  EXPECT_TRUE(Eventually([&] { return victim.ended == 70; }));
  EXPECT_EQ(victim.Call(), OkStatus());
}

TEST(GrpcHostileTest, OneConnectionCannotTakeAllThreads) {
  ServerLimits limits;
  limits.waiting_calls_per_connection = 3;
  Victim victim(limits);
  RawClient greedy(victim.server.port()), other(victim.server.port());
  std::vector<std::shared_ptr<RawStream>> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(Request(Prefix(0)));
    greedy.Start(calls.back(), kWait);
    if (i == 2) {
      ASSERT_TRUE(Eventually([&] { return victim.waiting == 3; }));  // those whose turn has come
    }
  }
  other.Start(Request(Prefix(0)), kWait);
  EXPECT_TRUE(Eventually([&] { return victim.waiting == 4; }));
  // Calls that are given up end, whether or not their turn has come; those whose turn has not come never begin.
  for (int i = 3; i < 10; ++i) greedy.Reset(*calls[static_cast<size_t>(i)]);
  for (int i = 0; i < 3; ++i) greedy.Reset(*calls[static_cast<size_t>(i)]);
  EXPECT_TRUE(Eventually([&] { return victim.ended == 3; }));
  EXPECT_EQ(victim.Call(), OkStatus());
  EXPECT_EQ(victim.waiting, 4);
}

TEST(GrpcHostileTest, StrangersAreTurnedAwayAtTheirHeaders) {
  ServerLimits limits;
  limits.trusts_same_user = false;
  RpcServerOptions options;
  options.token = "a token of the job";
  options.name = "/job:ps/replica:0/task:0";
  Victim victim(limits, options);
  RawClient client(victim.server.port());
  auto stream = Request(Prefix(1 << 20) + std::string(1000, 'x'), /*ends=*/false);
  client.Start(stream, kEcho);
  ASSERT_TRUE(client.PumpUntil([&] { return stream->closed; }));
  EXPECT_EQ(stream->headers["grpc-status"], "16");
  EXPECT_EQ(victim.server.quota()->taken(), 0u);
  auto large = Request(Prefix(100000), /*ends=*/false);
  client.Start(large, "/millstream.Trust/Challenge");
  ASSERT_TRUE(client.PumpUntil([&] { return large->closed; }));
  EXPECT_EQ(large->headers["grpc-status"], "8");
  EXPECT_EQ(victim.Call().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(victim.Call("another token").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(victim.Call("a token of the job"), OkStatus());
}

}  // namespace
}  // namespace millstream
