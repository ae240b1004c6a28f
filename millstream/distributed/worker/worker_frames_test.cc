// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/wire_tensor.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

// Keeps what is sent.
class KeepingLink final : public PeerLink {
 public:
  KeepingLink() : PeerLink("/job:local/replica:0/task:1", 1) {}
  void Send(Frame frame) override { sent.push_back(std::move(frame)); }
  void Close(Status) override {}
  const char* transport() const override { return "none"; }
  int64_t last_heard_ns() const override { return 0; }
  std::vector<Frame> sent;
};

WorkerOptions OptionsOfTask0() {
  WorkerOptions options;
  options.task = "/job:local/replica:0/task:0";
  options.incarnation = 7;
  return options;
}

// A frame whose payload is refused is never delivered: the answer must come from whoever refuses.
TEST(WorkerFrames, ARequestWithAPayloadIsAnswered) {
  Worker worker(OptionsOfTask0(),
                [](const std::string& task, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                  return errors::Unavailable("no task ", task);
                });
  const auto link = std::make_shared<KeepingLink>();
  Frame frame;
  frame.kind = kRunPart;
  frame.step = 9;
  frame.tag = 3;
  frame.body = std::string(2, '\0');
  EXPECT_TRUE(absl::IsInvalidArgument(worker.Allocate(*link, frame, 5000).status()));
  ASSERT_EQ(link->sent.size(), 1u);
  EXPECT_EQ(link->sent[0].kind, static_cast<uint32_t>(kPartDone));
  EXPECT_EQ(link->sent[0].step, 9u);
  EXPECT_EQ(link->sent[0].tag, 3u);
  EXPECT_EQ(link->sent[0].edge, static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
}

// A value that is refused before its step begins will not come again: the step must not wait for it.
TEST(WorkerFrames, AStepWhoseEarlyValueWasRefusedFails) {
  constexpr uint64_t kTooLarge = uint64_t{1} << 62;
  for (const bool large : {true, false}) {
    millstream::testing::DirectCluster cluster({"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"});
    Scope root = Scope::Root();
    Output x = root.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    Output here = root.WithDevice("/job:worker/task:0").Op("Square", {x});
    root.WithDevice("/job:ps/task:0").WithOpName("there").Op("Neg", {here});
    auto session = cluster.NewSession();
    ASSERT_TRUE(session->Extend(*root.graph()).ok());
    std::vector<Tensor> out;
    ASSERT_TRUE(session->Run({{"x:0", Tensor::Scalar(3.f)}}, {"there:0"}, {}, &out).ok());
    const auto link = std::make_shared<KeepingLink>();
    for (uint64_t step = 1001; step < 1010; ++step) {  // of those to come
      Frame frame;
      frame.kind = kValue;
      frame.step = step;
      frame.body = "no tensor";
      if (large) {
        EXPECT_TRUE(absl::IsResourceExhausted(cluster.worker(1).Allocate(*link, frame, kTooLarge).status()));
      } else {
        cluster.worker(1).Receive(*link, frame);
      }
    }
    const Status status = session->Run({{"x:0", Tensor::Scalar(3.f)}}, {"there:0"}, {}, &out);
    EXPECT_EQ(status.code(), large ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kInvalidArgument)
        << status;
  }
}

// Feeds and values for steps that never begin.
TEST(WorkerFrames, WhatComesForStepsThatNeverBeginIsDropped) {
  for (const FrameKind kind : {kFeed, kValue, kLoopValue}) {
    WorkerOptions options = OptionsOfTask0();
    options.ask_after = std::chrono::milliseconds(100);
    options.max_early_steps = 10;
    options.max_early_bytes = 1000;
    Worker worker(options, [](const std::string&, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
      return errors::Unavailable("");
    });
    const auto link = std::make_shared<KeepingLink>();
    Frame frame;
    frame.kind = kind;
    for (uint64_t step = 1; step <= 100; ++step) {
      const Tensor value = Tensor::Scalar(1.f);
      frame.step = step;
      frame.body.clear();
      ASSERT_TRUE(EncodeTensor(&value, &frame.body, &frame.payload).ok());
      worker.Receive(*link, frame);
      EXPECT_LE(worker.num_waiting(), 10u);
      if (step == 1) {
        EXPECT_EQ(worker.num_waiting(), 1u);
      }
    }
    while (worker.num_waiting() > 0) std::this_thread::yield();
  }
}

// A client's cluster has one master of a name: a second one has taken its place.
TEST(WorkerSessions, EndWhenAnotherMasterTakesTheirMastersName) {
  Worker worker(OptionsOfTask0(),
                [](const std::string&, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                  return errors::Unavailable("");
                });
  const auto create = [&](const char* name, const char* session_master, uint64_t incarnation) {
    SessionCluster cluster;
    cluster.master = session_master;
    return worker.CreateSession(name, SessionOptions(), cluster, false, nullptr, "/job:local/replica:0/task:0",
                                incarnation);
  };
  ASSERT_EQ(create("without", "", 1), OkStatus());
  ASSERT_EQ(create("old", "/job:master/replica:0/task:0", 2), OkStatus());
  ASSERT_EQ(create("other", "/job:master/replica:0/task:1", 3), OkStatus());
  ASSERT_EQ(create("new", "/job:master/replica:0/task:0", 4), OkStatus());
  ASSERT_EQ(create("newer", "/job:master/replica:0/task:0", 4), OkStatus());
  ASSERT_EQ(create("without, too", "", 5), OkStatus());
  const Status gone = worker.Register("old", PrunedGraph(), EdgeLinks(), {}).status();
  EXPECT_TRUE(absl::IsAborted(gone)) << gone;
  EXPECT_TRUE(absl::StrContains(gone.message(), "Session handle is not found")) << gone;
  for (const char* name : {"without", "other", "new", "newer", "without, too"}) {
    EXPECT_EQ(worker.DeleteSession(name), OkStatus()) << name;
  }
}

}  // namespace
}  // namespace millstream
