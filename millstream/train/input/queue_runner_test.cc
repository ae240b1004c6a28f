// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/queue_runner.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

class QueueRunnerTest : public ::testing::Test {
 protected:
  QueueRunnerTest() {
    queue_ = s_.WithOpName("queue").Op(
        "FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kInt64}}, {"capacity", int64_t{3}}});
    // Counts up to 10, then is out of range.
    counter_ =
        s_.WithOpName("counter").Op("VariableV2", {}, {{"dtype", DType::kInt64}, {"shape", PartialShape(Shape())}});
    s_.WithOpName("init").Add("Assign", {counter_, s_.Const<int64_t>(0)});
    const Output next = s_.Op("CountUpTo", {counter_}, {{"limit", int64_t{10}}});
    enqueue_ = s_.WithOpName("enqueue").Add("QueueEnqueueV2", {queue_, next});
    s_.WithOpName("dequeue").Op("QueueDequeueV2", {queue_}, {{"component_types", std::vector<DType>{DType::kInt64}}});
  }

  void Start() {
    ASSERT_EQ(s_.status(), OkStatus());
    session_ = std::move(NewSession()).value();
    ASSERT_EQ(session_->Extend(*s_.graph()), OkStatus());
    ASSERT_EQ(session_->Run({}, {}, {"init"}, &out_), OkStatus());
  }

  Scope s_ = Scope::Root();
  Output queue_, counter_;
  Node* enqueue_ = nullptr;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> out_;
};

TEST_F(QueueRunnerTest, FillsUntilTheInputEndsAndClosesTheQueue) {
  ASSERT_EQ(AddQueueRunner(s_, *QueueRunner::Make(s_, queue_, {enqueue_})), OkStatus());
  Start();
  Coordinator coordinator;
  StartQueueRunners(s_, *session_, coordinator);
  for (int64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(session_->Run({}, {"dequeue:0"}, {}, &out_), OkStatus());
    EXPECT_EQ(out_[0].scalar<int64_t>(), i);
  }
  EXPECT_EQ(session_->Run({}, {"dequeue:0"}, {}, &out_).code(), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(coordinator.ShouldStop());
  coordinator.RequestStop();
  EXPECT_EQ(coordinator.Join(), OkStatus());
}

TEST_F(QueueRunnerTest, AStopCancelsAFullQueue) {
  const QueueRunner runner = *QueueRunner::Make(s_, queue_, {enqueue_});
  Start();
  Coordinator coordinator;
  runner.CreateThreads(*session_, coordinator);
  runner.CreateThreads(*session_, coordinator);  // they run already
  ASSERT_EQ(session_->Run({}, {"dequeue:0"}, {}, &out_), OkStatus());
  coordinator.RequestStop();
  EXPECT_EQ(coordinator.Join(), OkStatus());
}

TEST_F(QueueRunnerTest, ErrorsReachTheCoordinator) {
  Node* bad = s_.Add("QueueEnqueueV2", {queue_, s_.Op("Placeholder", {}, {{"dtype", DType::kInt64}})});
  const QueueRunner runner = *QueueRunner::Make(s_, queue_, {bad});
  Start();
  Coordinator coordinator;
  runner.CreateThreads(*session_, coordinator);
  EXPECT_EQ(coordinator.Join().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueueRunnerTest, WhatIsNotThereIsRefused) {
  EXPECT_EQ(QueueRunner::Make(s_, queue_, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(QueueRunner::Make(s_, queue_, {nullptr}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AddQueueRunner(s_, QueueRunner({"queue", {"x"}, "y", "z"})).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(QueueRunnersOf(s_).empty());
}

}  // namespace
}  // namespace millstream
