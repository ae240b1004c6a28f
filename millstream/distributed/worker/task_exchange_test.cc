// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/task_exchange.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

class QuietLink final : public PeerLink {
 public:
  QuietLink() : PeerLink("/job:local/replica:0/task:1", 1) {}
  void Send(Frame) override { ++sent; }
  void Close(Status) override {}
  const char* transport() const override { return "none"; }
  int64_t last_heard_ns() const override { return 0; }
  int sent = 0;
};

// The part of a graph that another task has sent may have two nodes with one edge. Each of them must end.
TEST(TaskExchangeTest, OneEdgeHasOneReceiver) {
  TaskExchange exchange(1);
  Status first = errors::Internal("not called"), second = first, third = first;
  exchange.Receive(5, 0, [&](const Status& status, const Tensor&, bool) { first = status; });
  exchange.Receive(5, 0, [&](const Status& status, const Tensor&, bool) { second = status; });
  exchange.Receive(5, 1, [&](const Status& status, const Tensor&, bool) { third = status; });  // of another iteration
  EXPECT_TRUE(absl::IsInvalidArgument(second)) << second;
  exchange.Deliver(5, 0, Tensor::Scalar(1.f), false, nullptr);
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(absl::IsInternal(third)) << third;
  exchange.Fail(errors::Aborted("over"));
  EXPECT_TRUE(absl::IsAborted(third)) << third;
}

TEST(TaskExchangeTest, OneEdgeHasOneSender) {
  const auto link = std::make_shared<QuietLink>();
  const EdgeLinks links(6, link);
  TaskExchange exchange(1);
  exchange.Begin(&links);
  Status first = errors::Internal("not called"), second = first;
  exchange.SendInLoop(5, 0, Tensor::Scalar(1.f), false, [&](const Status& status) { first = status; });
  exchange.SendInLoop(5, 0, Tensor::Scalar(1.f), false, [&](const Status& status) { second = status; });
  EXPECT_TRUE(absl::IsInvalidArgument(second)) << second;
  EXPECT_EQ(link->sent, 1);
  exchange.Taken(5, 0);
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(absl::IsInternal(exchange.Send(7, 0, Tensor::Scalar(1.f), false)));
}

}  // namespace
}  // namespace millstream
