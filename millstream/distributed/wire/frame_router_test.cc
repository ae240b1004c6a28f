// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/frame_router.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

class StandInLink final : public PeerLink {
 public:
  StandInLink() : PeerLink("/job:ps/replica:0/task:0", 1) {}
  void Send(Frame) override {}
  void Close(Status) override {}
  const char* transport() const override { return "none"; }
  int64_t last_heard_ns() const override { return 0; }
};

// Notes the kinds it is given.
class NotingReceiver final : public FrameReceiver {
 public:
  StatusOr<Tensor> Allocate(PeerLink&, const Frame& frame, uint64_t bytes) override {
    allocated.push_back(frame.kind);
    return Tensor(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
  }
  void Receive(PeerLink&, Frame frame) override { received.push_back(frame.kind); }
  void LinkLost(PeerLink&, const Status& why) override { lost.push_back(why); }

  std::vector<uint32_t> allocated, received;
  std::vector<Status> lost;
};

class CountingObserver final : public TaskObserver {
 public:
  void LinkOpened(PeerLink&) override { ++opened; }
  void LinkClosed(PeerLink&, const Status& why) override { closed.push_back(why); }
  void StepFailed(const Status&) override {}
  std::shared_ptr<FetchObserver> ObserveFetch(const std::string&, DType, bool) override { return nullptr; }

  int opened = 0;
  std::vector<Status> closed;
};

Frame OfKind(uint32_t kind) {
  Frame frame;
  frame.kind = kind;
  return frame;
}

TEST(FrameRouterTest, EachKindHasItsReceiver) {
  StandInLink link;
  NotingReceiver worker, collective;
  FrameRouter router;
  router.Route({kValue, kRunPart}, &worker);
  router.Route({static_cast<FrameKind>(16)}, &collective);
  for (const uint32_t kind : {uint32_t{kRunPart}, 16u, uint32_t{kValue}}) {
    EXPECT_EQ(router.Allocate(link, OfKind(kind), 8)->ByteSize(), 8u);
    router.Receive(link, OfKind(kind));
  }
  EXPECT_EQ(worker.received, (std::vector<uint32_t>{kRunPart, kValue}));
  EXPECT_EQ(worker.allocated, worker.received);
  EXPECT_EQ(collective.received, std::vector<uint32_t>{16});
  EXPECT_EQ(collective.allocated, collective.received);
}

TEST(FrameRouterTest, KindsThatNobodyTakesAreDropped) {
  StandInLink link;
  NotingReceiver worker;
  FrameRouter router;
  router.Route({kValue}, &worker);
  for (const uint32_t kind : {0u, uint32_t{kPartDone}, kNumFrameKinds - 1, kNumFrameKinds, UINT32_MAX}) {
    EXPECT_TRUE(absl::IsUnimplemented(router.Allocate(link, OfKind(kind), 8).status())) << kind;
    router.Receive(link, OfKind(kind));
  }
  EXPECT_TRUE(worker.received.empty());
  EXPECT_TRUE(worker.allocated.empty());
}

// Answers go to whoever called that task; everything else goes where the task's own table says.
TEST(FrameRouterTest, ADialedLinkAddsItsCaller) {
  StandInLink link;
  NotingReceiver worker, first, second;
  FrameRouter table;
  table.Route({kValue}, &worker);
  FrameRouter to_first(table, "host:1"), to_second(table, "host:2");
  to_first.Route({kPartDone}, &first);
  to_second.Route({kPartDone}, &second);
  for (FrameRouter* router : {&table, &to_first, &to_second}) {
    router->Receive(link, OfKind(kPartDone));
    router->Receive(link, OfKind(kValue));
  }
  EXPECT_EQ(first.received, std::vector<uint32_t>{kPartDone});
  EXPECT_EQ(second.received, std::vector<uint32_t>{kPartDone});
  EXPECT_EQ(worker.received, (std::vector<uint32_t>{kValue, kValue, kValue}));
}

TEST(FrameRouterTest, TellsEachReceiverOnceOfALostLink) {
  StandInLink link;
  NotingReceiver worker, caller;
  CountingObserver observer;
  FrameRouter table(&observer);
  table.Route({kValue, kRunPart}, &worker);
  FrameRouter router(table, "host:1");
  router.Route({kFetch, kPartDone}, &caller);
  router.Opened(link);
  EXPECT_EQ(router.links_ended(), 0);
  router.Closed(link, errors::Cancelled("cable cut"));
  EXPECT_EQ(router.links_ended(), 1);
  EXPECT_EQ(table.links_ended(), 0);
  for (const NotingReceiver* receiver : {&worker, &caller}) {
    ASSERT_EQ(receiver->lost.size(), 1u);
    EXPECT_EQ(receiver->lost[0], errors::Unavailable("/job:ps/replica:0/task:0 at host:1 was lost: cable cut"));
  }
  table.Closed(link, errors::Cancelled("cable cut"));
  EXPECT_EQ(worker.lost.back(), errors::Unavailable("/job:ps/replica:0/task:0 was lost: cable cut"));
  EXPECT_EQ(observer.opened, 1);
  ASSERT_EQ(observer.closed.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(observer.closed[0]));
}

}  // namespace
}  // namespace millstream
