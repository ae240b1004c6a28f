// SPDX-License-Identifier: Apache-2.0
// Links of every transport, between two hubs of this process.
#include "millstream/distributed/link/link_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "millstream/distributed/link/hub_registry.h"
#include "millstream/distributed/link/testing/link_peers.h"
#include "millstream/framework/servable_link.h"

namespace millstream {
namespace {

using namespace std::chrono_literals;
using testing::IsPattern;
using testing::LinkedPair;
using testing::MakeFrame;
using testing::OptionsFor;
using testing::Pattern;
using testing::Recorder;
using testing::StartHub;

class LinkTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, LinkTest, ::testing::Values("inproc", "shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(LinkTest, CarriesFramesBothWays) {
  LinkedPair pair(OptionsFor(GetParam()));
  EXPECT_STREQ(pair.near_link->transport(), GetParam());
  EXPECT_EQ(pair.near_link->peer(), "/job:ps/replica:0/task:0");
  EXPECT_EQ(pair.near_link->peer_incarnation(), 7u);
  EXPECT_EQ(pair.far_link->peer(), "/job:worker/replica:0/task:0");
  Frame frame = MakeFrame(1, "there");
  frame.payload = Pattern(100000);
  pair.near_link->Send(std::move(frame));
  pair.far_link->Send(MakeFrame(2, "back"));
  const std::vector<Frame> there = pair.far.WaitForFrames(1), back = pair.near.WaitForFrames(1);
  ASSERT_EQ(there.size(), 1u);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(there[0].kind, 3u);
  EXPECT_EQ(there[0].edge, 4u);
  EXPECT_EQ(there[0].step, 1u);
  EXPECT_EQ(there[0].tag, 5u);
  EXPECT_EQ(there[0].body, "there");
  EXPECT_EQ(there[0].payload.ByteSize(), 100000u);
  EXPECT_TRUE(IsPattern(there[0].payload));
  EXPECT_EQ(back[0].body, "back");
  EXPECT_FALSE(back[0].payload.IsInitialized());
  EXPECT_EQ(pair.near_link->counters().frames_sent, 1u);
  EXPECT_EQ(pair.near_link->counters().frames_received, 1u);
  EXPECT_EQ(pair.far_link->counters().bytes_received, 40u + 5 + 100000);
}

TEST_P(LinkTest, KeepsOrderAmongManyThreadsAndSizes) {
  LinkedPair pair(OptionsFor(GetParam()));
  constexpr int kThreads = 4, kFrames = 2000;
  const Tensor small = Pattern(3000), large = Pattern(700000);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kFrames; ++i) {
        Frame frame = MakeFrame(static_cast<uint64_t>(i), std::string(static_cast<size_t>(i % 100), 'x'));
        frame.kind = static_cast<uint32_t>(t);
        if (i % 50 == 0) frame.payload = i % 500 == 0 ? large : small;
        pair.near_link->Send(std::move(frame));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const std::vector<Frame> frames = pair.far.WaitForFrames(kThreads * kFrames);
  ASSERT_EQ(frames.size(), static_cast<size_t>(kThreads * kFrames));
  std::vector<uint64_t> next(kThreads, 0);
  for (const Frame& frame : frames) {
    ASSERT_EQ(frame.step, next[frame.kind]++);
    ASSERT_EQ(frame.body.size(), frame.step % 100);
    if (frame.step % 50 == 0) {
      ASSERT_TRUE(IsPattern(frame.payload));
    }
  }
}

TEST_P(LinkTest, HandlersMaySendFromTheIoThread) {
  LinkedPair pair(OptionsFor(GetParam()));
  pair.far.on_frame = [](PeerLink& link, Frame frame) { link.Send(std::move(frame)); };
  for (uint64_t i = 0; i < 500; ++i) {
    Frame frame = MakeFrame(i);
    frame.payload = Pattern(static_cast<int64_t>(i * 1000));
    pair.near_link->Send(std::move(frame));
  }
  const std::vector<Frame> frames = pair.near.WaitForFrames(500);
  ASSERT_EQ(frames.size(), 500u);
  for (uint64_t i = 0; i < 500; ++i) ASSERT_EQ(frames[i].step, i);
  EXPECT_TRUE(IsPattern(frames[499].payload));
}

// What a thread that waits for frames does: while it serves the link, it is the one that delivers them.
TEST_P(LinkTest, AThreadThatWaitsMayServeItsLink) {
  LinkedPair pair(OptionsFor(GetParam()));
  const auto link = std::dynamic_pointer_cast<ServableLink>(pair.near_link);
  EXPECT_EQ(link != nullptr, GetParam() == std::string("tcp"));
  if (link == nullptr) return;
  pair.far.on_frame = [](PeerLink& link, Frame frame) { link.Send(std::move(frame)); };
  std::atomic<int> came{0}, here{0};
  std::atomic<bool> right{true};
  const auto self = std::this_thread::get_id();
  pair.near.on_frame = [&](PeerLink&, Frame frame) {
    if (std::this_thread::get_id() == self) ++here;
    if (frame.step != static_cast<uint64_t>(came) || !IsPattern(frame.payload)) right = false;
    ++came;
  };
  for (int i = 0; i < 300; ++i) {
    Frame frame = MakeFrame(static_cast<uint64_t>(i));
    frame.payload = Pattern(i * 2000 + 1);
    pair.near_link->Send(std::move(frame));
    while (came <= i) {
      if (!link->Serve()) std::this_thread::yield();
    }
    if (i % 50 == 49) link->StopServing();
  }
  EXPECT_TRUE(right);
  EXPECT_GT(here, 0);
}

TEST(ServableLinkTest, TheIoThreadTakesALinkBack) {
  LinkedPair pair(OptionsFor("tcp"));
  const auto link = std::dynamic_pointer_cast<ServableLink>(pair.near_link);
  for (uint64_t i = 0; i < 20; ++i) {
    link->Serve();
    if (i % 2 == 0) link->StopServing();  // else after a while
    pair.far_link->Send(MakeFrame(i));
    ASSERT_EQ(pair.near.WaitForFrames(i + 1).size(), i + 1);
  }
}

TEST(ServableLinkTest, ALinkThatIsServedEndsWithItsPeer) {
  LinkedPair pair(OptionsFor("tcp"));
  const auto link = std::dynamic_pointer_cast<ServableLink>(pair.near_link);
  std::atomic<bool> over{false};
  std::thread server([&] {
    while (!over) link->Serve();
  });
  pair.far_hub.reset();
  const Status why = pair.near.WaitForClose();
  over = true;
  server.join();
  EXPECT_TRUE(absl::IsCancelled(why) || absl::IsUnavailable(why)) << why;  // what the peer's hub said, if it came
  EXPECT_FALSE(link->Serve());
  link->StopServing();
}

TEST_P(LinkTest, WakesAPeerThatBlocksBeforeEveryFrame) {
  LinkOptions options = OptionsFor(GetParam());
  options.spin = 0us;
  LinkedPair pair(options);
  pair.far.on_frame = [](PeerLink& link, Frame frame) { link.Send(std::move(frame)); };
  for (uint64_t i = 0; i < 600; ++i) {
    pair.near_link->Send(MakeFrame(i));
    ASSERT_EQ(pair.near.WaitForFrames(i + 1).size(), i + 1);
  }
}

TEST_P(LinkTest, CloseLetsWhatWasQueuedThrough) {
  LinkedPair pair(OptionsFor(GetParam()));
  for (uint64_t i = 0; i < 20; ++i) {
    Frame frame = MakeFrame(i);
    frame.payload = Pattern(1 << 20);
    pair.near_link->Send(std::move(frame));
  }
  pair.near_link->Close(OkStatus());
  pair.near_link->Send(MakeFrame(99));  // dropped
  const Status far = pair.far.WaitForClose();
  EXPECT_TRUE(absl::IsUnavailable(far)) << far;
  EXPECT_NE(far.message().find("/job:worker/replica:0/task:0"), absl::string_view::npos) << far;
  EXPECT_EQ(pair.far.WaitForFrames(20).size(), 20u);
  EXPECT_TRUE(pair.near.WaitForClose().ok());
  EXPECT_EQ(pair.near.closes(), 1);
  EXPECT_EQ(pair.far.closes(), 1);
}

TEST_P(LinkTest, AnErrorClosesAtOnceAndIsToldToThePeer) {
  LinkedPair pair(OptionsFor(GetParam()));
  pair.far_link->Close(errors::Aborted("restarted"));
  const Status near = pair.near.WaitForClose(), far = pair.far.WaitForClose();
  EXPECT_EQ(far, errors::Aborted("restarted"));
  EXPECT_TRUE(absl::IsAborted(near)) << near;
  EXPECT_NE(near.message().find("/job:ps/replica:0/task:0"), absl::string_view::npos) << near;
  EXPECT_NE(near.message().find("restarted"), absl::string_view::npos) << near;
  pair.near_link->Send(MakeFrame(1));
  pair.far_link->Send(MakeFrame(1));
  pair.far_link->Close(OkStatus());
  pair.near_hub.reset();
  pair.far_hub.reset();
  EXPECT_EQ(pair.near.closes(), 1);
  EXPECT_EQ(pair.far.closes(), 1);
  pair.near_link->Send(MakeFrame(1));  // a link may outlive its hub
}

TEST(WireLinkTest, AnEndAmidAPayloadGivesItsMemoryBackThoughTheLinkIsHeld) {
  for (const char* transport : {"shm", "tcp"}) {
    SCOPED_TRACE(transport);
    LinkedPair pair(OptionsFor(transport));
    testing::ExpectMemoryBackAfterAnEndAmidAPayload(*pair.near_link, pair.far);
  }
}

TEST_P(LinkTest, TheEndOfAHubEndsItsLinks) {
  LinkedPair pair(OptionsFor(GetParam()));
  for (uint64_t i = 0; i < 5; ++i) pair.near_link->Send(MakeFrame(i));
  pair.near_hub.reset();
  EXPECT_TRUE(absl::IsCancelled(pair.near.WaitForClose(0ms)));
  EXPECT_FALSE(pair.far.WaitForClose().ok());
  EXPECT_EQ(pair.far.WaitForFrames(5).size(), 5u);
}

TEST_P(LinkTest, TheReasonMayComeFromAHandler) {
  LinkedPair pair(OptionsFor(GetParam()));
  pair.far.on_frame = [](PeerLink& link, const Frame&) { link.Close(errors::InvalidArgument("nonsense")); };
  for (uint64_t i = 0; i < 100; ++i) pair.near_link->Send(MakeFrame(i));
  EXPECT_TRUE(absl::IsInvalidArgument(pair.near.WaitForClose()));
  EXPECT_TRUE(absl::IsInvalidArgument(pair.far.WaitForClose()));
}

TEST_P(LinkTest, ManySmallLinksShareAnIoThread) {
  Recorder server;
  server.on_frame = [](PeerLink& link, Frame frame) { link.Send(std::move(frame)); };
  const LinkOptions options = OptionsFor(GetParam());
  std::vector<std::unique_ptr<Recorder>> clients;
  auto ps = StartHub("/job:ps/replica:0/task:0", options, &server);
  std::vector<std::unique_ptr<LinkHub>> hubs;
  std::vector<std::shared_ptr<PeerLink>> links;
  for (int i = 0; i < 63; ++i) {
    clients.push_back(std::make_unique<Recorder>());
    hubs.push_back(StartHub(absl::StrCat("/job:worker/replica:0/task:", i), options, clients.back().get()));
    auto link = hubs.back()->Dial(ps->endpoint(), clients.back().get(), 10s);
    ASSERT_TRUE(link.ok()) << link.status();
    links.push_back(*link);
  }
  for (uint64_t round = 0; round < 50; ++round) {
    for (const auto& link : links) link->Send(MakeFrame(round));
  }
  for (const auto& client : clients) EXPECT_EQ(client->WaitForFrames(50).size(), 50u);
}

TEST_P(LinkTest, ALargeTransferDoesNotHoldUpOthers) {
  Recorder server, big_client, small_client;
  server.on_frame = [](PeerLink& link, Frame frame) {
    if (!frame.payload.IsInitialized()) link.Send(std::move(frame));
  };
  const LinkOptions options = OptionsFor(GetParam());
  auto ps = StartHub("/job:ps/replica:0/task:0", options, &server);
  auto big = StartHub("/job:worker/replica:0/task:0", options, &big_client);
  auto small = StartHub("/job:worker/replica:0/task:1", options, &small_client);
  auto big_link = *big->Dial(ps->endpoint(), &big_client, 10s);
  auto small_link = *small->Dial(ps->endpoint(), &small_client, 10s);
  Frame frame = MakeFrame(0);
  frame.payload = Tensor(DType::kUint8, Shape({256 << 20}));
  big_link->Send(std::move(frame));
  big_link->Send(MakeFrame(1));
  small_link->Send(MakeFrame(2));
  EXPECT_EQ(small_client.WaitForFrames(1).size(), 1u);
  if (std::string(GetParam()) != "inproc") {
    EXPECT_EQ(big_link->counters().frames_received, 0u) << "the small frame waited for the large one";
  }
  EXPECT_EQ(big_client.WaitForFrames(1).size(), 1u);
}

TEST_P(LinkTest, TestsCanDelayAndBreakLinks) {
  LinkOptions options = OptionsFor(GetParam());
  options.test_delay = 20ms;
  options.test_break_after = 3;
  LinkedPair pair(options, OptionsFor(GetParam()));
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < 3; ++i) pair.near_link->Send(MakeFrame(i));
  const std::vector<Frame> frames = pair.far.WaitForFrames(3);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  ASSERT_EQ(frames.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(frames[i].step, i);
  pair.near_link->Send(MakeFrame(3));
  EXPECT_TRUE(absl::IsUnavailable(pair.near.WaitForClose()));
  EXPECT_TRUE(absl::IsUnavailable(pair.far.WaitForClose()));
  EXPECT_EQ(pair.far.WaitForFrames(3).size(), 3u);
}

TEST_P(LinkTest, SeveralIoThreads) {
  LinkOptions options = OptionsFor(GetParam());
  options.io_threads = 3;
  Recorder server, client;
  server.on_frame = [](PeerLink& link, Frame frame) { link.Send(std::move(frame)); };
  auto ps = StartHub("/job:ps/replica:0/task:0", options, &server);
  auto worker = StartHub("/job:worker/replica:0/task:0", options, &client);
  std::vector<std::shared_ptr<PeerLink>> links(5);
  for (auto& link : links) link = *worker->Dial(ps->endpoint(), &client, 10s);
  for (uint64_t i = 0; i < 100; ++i) links[i % 5]->Send(MakeFrame(i));
  EXPECT_EQ(client.WaitForFrames(100).size(), 100u);
}

TEST_P(LinkTest, WrongTicketIsRefused) {
  Recorder handler;
  auto ps = StartHub("/job:ps/replica:0/task:0", OptionsFor(GetParam()), &handler);
  auto worker = StartHub("/job:worker/replica:0/task:0", OptionsFor(GetParam()), &handler);
  LinkEndpoint endpoint = ps->endpoint();
  endpoint.ticket[15] ^= 1;
  const auto link = worker->Dial(endpoint, &handler, 5s);
  EXPECT_TRUE(absl::IsPermissionDenied(link.status())) << link.status();
  EXPECT_NE(link.status().message().find("/job:ps/replica:0/task:0"), absl::string_view::npos) << link.status();
  endpoint.ticket = "short";
  EXPECT_TRUE(absl::IsInvalidArgument(worker->Dial(endpoint, &handler, 5s).status()));
}

TEST_P(LinkTest, AcceptMayRefuse) {
  Recorder handler;
  auto ps = LinkHub::Start("/job:ps/replica:0/task:0", 7, OptionsFor(GetParam()),
                           [](const std::string& task, uint64_t incarnation) -> StatusOr<FrameHandler*> {
                             return errors::Aborted(task, " of incarnation ", incarnation, " is gone");
                           });
  auto worker = StartHub("/job:worker/replica:0/task:0", OptionsFor(GetParam()), &handler);
  const Status refused = worker->Dial((*ps)->endpoint(), &handler, 5s).status();
  EXPECT_TRUE(absl::IsAborted(refused)) << refused;
  EXPECT_NE(refused.message().find("/job:worker/replica:0/task:0 of incarnation 7 is gone"), absl::string_view::npos);
}

TEST_P(LinkTest, AnotherIncarnationIsAborted) {
  Recorder handler;
  auto ps = StartHub("/job:ps/replica:0/task:0", OptionsFor(GetParam()), &handler);
  auto worker = StartHub("/job:worker/replica:0/task:0", OptionsFor(GetParam()), &handler);
  LinkEndpoint endpoint = ps->endpoint();
  endpoint.incarnation = 8;
  EXPECT_TRUE(absl::IsAborted(worker->Dial(endpoint, &handler, 5s).status()));
}

TEST_P(LinkTest, NobodyThereIsUnavailable) {
  Recorder handler;
  auto ps = StartHub("/job:ps/replica:0/task:0", OptionsFor(GetParam()), &handler);
  auto worker = StartHub("/job:worker/replica:0/task:0", OptionsFor(GetParam()), &handler);
  const LinkEndpoint endpoint = ps->endpoint();
  ps.reset();
  EXPECT_TRUE(absl::IsUnavailable(worker->Dial(endpoint, &handler, 5s).status()));
}

TEST(LinkHubTest, ATransportThatOneSideLacksIsPassedOver) {
  Recorder handler;
  LinkOptions all;
  all.neighbours = std::make_shared<HubRegistry>();
  LinkOptions no_shm;
  no_shm.shm = false;
  auto full = StartHub("/job:ps/replica:0/task:0", all, &handler);
  auto plain = StartHub("/job:worker/replica:0/task:0", no_shm, &handler);
  EXPECT_STREQ((*plain->Dial(full->endpoint(), &handler, 5s))->transport(), "tcp");
  EXPECT_STREQ((*full->Dial(plain->endpoint(), &handler, 5s))->transport(), "tcp");
  EXPECT_STREQ((*full->Dial(full->endpoint(), &handler, 5s))->transport(), "inproc");
  LinkEndpoint elsewhere = full->endpoint();
  elsewhere.host = "another";
  EXPECT_STREQ((*full->Dial(elsewhere, &handler, 5s))->transport(), "tcp");
  elsewhere.tcp_address = "";
  const Status none = full->Dial(elsewhere, &handler, 5s).status();
  EXPECT_TRUE(absl::IsUnavailable(none)) << none;
}

TEST(LinkHubTest, ATaskNameMustFitTheHandshake) {
  EXPECT_TRUE(absl::IsInvalidArgument(LinkHub::Start("", 1, {}, nullptr).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(LinkHub::Start(std::string(300, 'x'), 1, {}, nullptr).status()));
}

}  // namespace
}  // namespace millstream
