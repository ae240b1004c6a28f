// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/grpc_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/link/testing/link_peers.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::IsPattern;
using testing::MakeFrame;
using testing::Pattern;
using testing::Recorder;

// A server that accepts links, and one link to it.
struct Pair {
  explicit Pair(const LinkOptions& options = {}, const std::string& ticket = "0123456789abcdef",
                const std::string& token = "") {
    auto service = std::make_shared<GrpcLinkService>();
    service->incarnation = 7;
    service->ticket = "0123456789abcdef";
    service->options = options;
    service->accept = [this](const std::string& task, uint64_t) -> StatusOr<FrameHandler*> {
      if (task == "/job:worker/replica:0/task:9") return errors::NotFound("no such task");
      return &far;
    };
    RpcServerOptions server_options;
    server_options.links = service;
    server_options.token = token;
    ServerLimits limits;
    limits.trusts_same_user = token.empty();
    auto grpc = std::make_unique<GrpcServer>(server_options, limits);
    EXPECT_EQ(grpc->Start({}), OkStatus());
    server = std::move(grpc);
    RpcChannelOptions channel_options;
    channel_options.token = token;
    channel_options.role = Role::kTask;
    channel = RpcChannel::Connect(absl::StrCat("127.0.0.1:", server->port()), channel_options).value();
    hello = {"/job:worker/replica:0/task:0", 5, "/job:ps/replica:0/task:0", 7, ticket};
    this->options = options;
  }
  Status Dial() {
    StatusOr<std::shared_ptr<PeerLink>> dialed = DialGrpcLink(channel, hello, &near, 10s, options);
    if (!dialed.ok()) return dialed.status();
    near_link = *dialed;
    far_link = far.WaitForLink();
    return OkStatus();
  }
  ~Pair() {
    if (near_link != nullptr) near_link->Close(errors::Cancelled("test over"));
    if (near_link != nullptr) near.WaitForClose().IgnoreError();
  }

  Recorder near, far;
  LinkOptions options;
  GrpcLinkHello hello;
  std::unique_ptr<RpcServer> server;
  std::shared_ptr<RpcChannel> channel;
  std::shared_ptr<PeerLink> near_link, far_link;
};

TEST(GrpcLinkTest, CarriesFramesBothWays) {
  Pair pair;
  ASSERT_EQ(pair.Dial(), OkStatus());
  EXPECT_STREQ(pair.near_link->transport(), "grpc");
  EXPECT_EQ(pair.near_link->peer(), "/job:ps/replica:0/task:0");
  EXPECT_EQ(pair.near_link->peer_incarnation(), 7u);
  EXPECT_EQ(pair.far_link->peer(), "/job:worker/replica:0/task:0");
  EXPECT_EQ(pair.far_link->peer_incarnation(), 5u);
  Frame frame = MakeFrame(1, "there");
  frame.payload = Pattern(10'000'000);
  pair.near_link->Send(std::move(frame));
  pair.far_link->Send(MakeFrame(2, "back"));
  const std::vector<Frame> there = pair.far.WaitForFrames(1), back = pair.near.WaitForFrames(1);
  ASSERT_EQ(there.size(), 1u);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(there[0].edge, 4u);
  EXPECT_EQ(there[0].body, "there");
  EXPECT_TRUE(IsPattern(there[0].payload));
  EXPECT_EQ(back[0].body, "back");
  EXPECT_EQ(pair.near_link->counters().frames_sent, 1u);
}

TEST(GrpcLinkTest, KeepsOrderAmongThreadsAndSizes) {
  Pair pair;
  ASSERT_EQ(pair.Dial(), OkStatus());
  constexpr int kThreads = 3, kFrames = 1000;
  const Tensor small = Pattern(3000), large = Pattern(700000);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kFrames; ++i) {
        Frame frame = MakeFrame(static_cast<uint64_t>(i), std::string(static_cast<size_t>(i % 100), 'x'));
        frame.kind = static_cast<uint32_t>(t);
        if (i % 50 == 0) frame.payload = i % 500 == 0 ? large : small;
        (t == 0 ? pair.far_link : pair.near_link)->Send(std::move(frame));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const std::vector<Frame> near = pair.near.WaitForFrames(kFrames), far = pair.far.WaitForFrames(2 * kFrames);
  ASSERT_EQ(near.size(), static_cast<size_t>(kFrames));
  ASSERT_EQ(far.size(), static_cast<size_t>(2 * kFrames));
  std::vector<uint64_t> next(kThreads, 0);
  for (const std::vector<Frame>* frames : {&near, &far}) {
    for (const Frame& frame : *frames) {
      ASSERT_EQ(frame.step, next[frame.kind]++);
      ASSERT_EQ(frame.body.size(), frame.step % 100);
      ASSERT_TRUE(frame.step % 50 != 0 || IsPattern(frame.payload));
    }
  }
}

TEST(GrpcLinkTest, CloseTellsBothAfterWhatWasQueued) {
  for (const bool by_server : {false, true}) {
    Pair pair;
    ASSERT_EQ(pair.Dial(), OkStatus());
    for (int i = 0; i < 20; ++i) {
      Frame frame = MakeFrame(static_cast<uint64_t>(i));
      frame.payload = Pattern(300000);
      (by_server ? pair.far_link : pair.near_link)->Send(std::move(frame));
    }
    (by_server ? pair.far_link : pair.near_link)->Close(OkStatus());
    EXPECT_EQ((by_server ? pair.far : pair.near).WaitForClose(), OkStatus());
    const Status other = (by_server ? pair.near : pair.far).WaitForClose();
    EXPECT_TRUE(absl::IsUnavailable(other)) << other;
    EXPECT_THAT(std::string(other.message()), HasSubstr("it closed the link"));
    EXPECT_EQ((by_server ? pair.near : pair.far).WaitForFrames(20).size(), 20u);
    pair.near_link = nullptr;
  }
}

// Holds up whoever receives, until the test lets go.
class Gate {
 public:
  void Wait() {
    MutexLock lock(mu_);
    while (!open_) cv_.Wait(mu_);
  }
  void Open() {
    MutexLock lock(mu_);
    open_ = true;
    cv_.NotifyAll();
  }

 private:
  Mutex mu_;
  CondVar cv_;
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

// Sends large frames, then small ones until the link takes no more; how many it has taken.
uint64_t SendUntilClosing(PeerLink& link) {
  for (int i = 0; i < 20; ++i) {
    Frame frame = MakeFrame(1);
    frame.payload = Pattern(1 << 20);
    link.Send(std::move(frame));
  }
  for (uint64_t before = 0; before != link.counters().frames_sent;) {
    before = link.counters().frames_sent;
    link.Send(MakeFrame(2));
    std::this_thread::yield();
  }
  return link.counters().frames_sent;
}

TEST(GrpcLinkTest, AServerThatStopsSendsWhatWasQueued) {
  LinkOptions options;
  options.linger = 20s;
  Pair pair(options);
  Gate gate;
  std::atomic<uint64_t> received{0};
  pair.near.on_frame = [&](PeerLink&, Frame) {
    gate.Wait();
    ++received;
  };
  ASSERT_EQ(pair.Dial(), OkStatus());
  std::thread stopping([&] { pair.server->Shutdown(); });
  const uint64_t sent = SendUntilClosing(*pair.far_link);
  gate.Open();
  stopping.join();
  EXPECT_TRUE(absl::IsUnavailable(pair.near.WaitForClose()));
  EXPECT_EQ(received, sent);
  pair.near_link = nullptr;
}

TEST(GrpcLinkTest, AServerThatStopsDoesNotWaitForeverForAPeerThatDoesNotRead) {
  LinkOptions options;
  options.linger = 50ms;
  Pair pair(options);
  Gate gate;
  pair.near.on_frame = [&](PeerLink&, Frame) { gate.Wait(); };
  ASSERT_EQ(pair.Dial(), OkStatus());
  for (int i = 0; i < 100; ++i) {
    Frame frame = MakeFrame(1);
    frame.payload = Pattern(1 << 20);
    pair.far_link->Send(std::move(frame));
  }
  pair.server->Shutdown();
  gate.Open();
  EXPECT_TRUE(absl::IsUnavailable(pair.far.WaitForClose()));
  EXPECT_TRUE(absl::IsUnavailable(pair.near.WaitForClose()));
  pair.near_link = nullptr;
}

TEST(GrpcLinkTest, CloseAfterQueueKeepsTheReason) {
  for (const bool by_server : {false, true}) {
    Pair pair;
    ASSERT_EQ(pair.Dial(), OkStatus());
    Recorder& other = by_server ? pair.near : pair.far;
    PeerLink& link = by_server ? *pair.far_link : *pair.near_link;
    for (int i = 0; i < 20; ++i) {
      Frame frame = MakeFrame(static_cast<uint64_t>(i));
      frame.payload = Pattern(1 << 20);
      link.Send(std::move(frame));
    }
    link.CloseAfterQueue(errors::Aborted("enough"));
    const Status told = other.WaitForClose();
    EXPECT_TRUE(absl::IsAborted(told)) << told;
    EXPECT_EQ(other.WaitForFrames(20).size(), 20u);
    EXPECT_EQ((by_server ? pair.far : pair.near).WaitForClose(), errors::Aborted("enough"));
    pair.near_link = nullptr;
  }
}

TEST(GrpcLinkTest, CloseWithReasonReachesPeer) {
  Pair pair;
  ASSERT_EQ(pair.Dial(), OkStatus());
  pair.near_link->Close(errors::Aborted("enough"));
  EXPECT_EQ(pair.near.WaitForClose(), errors::Aborted("enough"));
  const Status other = pair.far.WaitForClose();
  EXPECT_TRUE(absl::IsAborted(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("enough"));
  EXPECT_EQ(pair.near.closes() + pair.far.closes(), 2);
  pair.far_link->Send(MakeFrame(1));  // nobody hears it
}

TEST(GrpcLinkTest, AnEndAmidAPayloadGivesItsMemoryBackThoughTheLinkIsHeld) {
  Pair pair;
  ASSERT_EQ(pair.Dial(), OkStatus());
  testing::ExpectMemoryBackAfterAnEndAmidAPayload(*pair.near_link, pair.far);
}

TEST(GrpcLinkTest, ServerGoesAway) {
  Pair pair;
  ASSERT_EQ(pair.Dial(), OkStatus());
  pair.server.reset();
  const Status near = pair.near.WaitForClose(), far = pair.far.WaitForClose();
  EXPECT_TRUE(absl::IsUnavailable(near)) << near;
  EXPECT_THAT(std::string(near.message()), HasSubstr("/job:ps/replica:0/task:0 at 127.0.0.1:"));
  EXPECT_TRUE(absl::IsUnavailable(far)) << far;
  EXPECT_TRUE(absl::IsUnavailable(pair.Dial()));
  pair.near_link = nullptr;
}

TEST(GrpcLinkTest, StrangersAreRefused) {
  Pair wrong_ticket({}, "fedcba9876543210");
  EXPECT_TRUE(absl::IsPermissionDenied(wrong_ticket.Dial()));
  Pair pair;
  pair.hello.peer_incarnation = 8;
  EXPECT_TRUE(absl::IsAborted(pair.Dial()));
  pair.hello.peer_incarnation = 7;
  pair.hello.task = "/job:worker/replica:0/task:9";
  EXPECT_TRUE(absl::IsNotFound(pair.Dial()));
  pair.hello.task = "";
  EXPECT_TRUE(absl::IsInvalidArgument(pair.Dial()));
  Pair token({}, "0123456789abcdef", "secret");
  EXPECT_EQ(token.Dial(), OkStatus());
  token.channel = RpcChannel::Connect(token.channel->address()).value();
  Recorder other;
  EXPECT_EQ(DialGrpcLink(token.channel, token.hello, &other, 10s).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(GrpcLinkTest, QuietLinkIsPingedAndStaysOpen) {
  LinkOptions options;
  options.keepalive_interval = 300ms;
  options.keepalive_timeout = 2s;
  Pair pair(options);
  ASSERT_EQ(pair.Dial(), OkStatus());
  const int64_t before = pair.near_link->last_heard_ns();
  EXPECT_EQ(pair.near.WaitForClose(2500ms).code(), absl::StatusCode::kUnknown);  // still open
  EXPECT_GT(pair.near_link->last_heard_ns(), before);
}

TEST(GrpcLinkTest, SlowReaderHoldsSenderBack) {
  Pair pair;
  Mutex mu;
  CondVar cv;
  bool go = false;
  pair.far.on_frame = [&](PeerLink&, Frame) {
    MutexLock lock(mu);
    while (!go) cv.Wait(mu);
  };
  ASSERT_EQ(pair.Dial(), OkStatus());
  const Tensor large = Pattern(1 << 20);
  for (int i = 0; i < 200; ++i) {
    Frame frame = MakeFrame(static_cast<uint64_t>(i));
    frame.payload = large;
    pair.near_link->Send(std::move(frame));
  }
  EXPECT_LT(testing::BytesSentOnceStuck(*pair.near_link), 100u << 20);
  {
    MutexLock lock(mu);
    go = true;
    cv.NotifyAll();
  }
  pair.near_link->Close(OkStatus());
  EXPECT_EQ(pair.near.WaitForClose(), OkStatus());
  EXPECT_EQ(pair.far_link->counters().frames_received, 200u);
  pair.near_link = nullptr;
}

}  // namespace
}  // namespace millstream
