// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/op_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/base/notification.h"

namespace millstream::collective {
namespace {

struct Result {
  Notification done;
  Status status;
  Tensor output;
};

OpRequest Request(const std::string& member, Tensor input, int group_size = 2, OpKind kind = OpKind::kReduce) {
  OpRequest request;
  request.kind = kind;
  request.group = "1";
  request.instance = "1";
  request.group_size = group_size;
  request.member = member;
  request.dtype = input.dtype();
  request.input = std::move(input);
  return request;
}

void RunOp(OpHub& hub, OpRequest request, Result* result) {
  hub.Run(std::move(request), [result](Status status, Tensor output) {
    result->status = std::move(status);
    result->output = std::move(output);
    result->done.Notify();
  });
}

std::vector<float> Floats(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

TEST(OpHubTest, OpsOfOneInstanceMeet) {
  const auto hub = MakeRef<OpHub>();
  Result a, b;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1, 2})), &a);
  EXPECT_FALSE(a.done.HasBeenNotified());
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({10, 20})), &b);
  ASSERT_TRUE(a.done.HasBeenNotified() && b.done.HasBeenNotified());
  EXPECT_EQ(Floats(a.output), (std::vector<float>{11, 22}));
  EXPECT_TRUE(a.output.SharesBufferWith(b.output));
}

TEST(OpHubTest, AMemberThatIsAheadBeginsTheNextRound) {
  const auto hub = MakeRef<OpHub>();
  Result a1, a2, b1, b2;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1})), &a1);
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({2})), &a2);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({10})), &b1);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({20})), &b2);
  EXPECT_EQ(Floats(b1.output), (std::vector<float>{11}));
  EXPECT_EQ(Floats(b2.output), (std::vector<float>{22}));
}

TEST(OpHubTest, MembersAreOrderedByNumber) {
  const auto hub = MakeRef<OpHub>();
  Result results[12];
  for (int i = 11; i >= 0; --i) {
    RunOp(*hub, Request(absl::StrCat("CPU:", i), Tensor::Vector<float>({static_cast<float>(i)}), 12, OpKind::kGather),
          &results[i]);
  }
  EXPECT_EQ(Floats(results[3].output), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(OpHubTest, AllToAllAndReduceScatter) {
  const auto hub = MakeRef<OpHub>();
  Result a, b, c, d;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1, 2}), 2, OpKind::kAllToAll), &a);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({3, 4}), 2, OpKind::kAllToAll), &b);
  EXPECT_EQ(Floats(a.output), (std::vector<float>{1, 3}));
  EXPECT_EQ(Floats(b.output), (std::vector<float>{2, 4}));
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1, 2}), 2, OpKind::kReduceScatter), &c);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({3, 4}), 2, OpKind::kReduceScatter), &d);
  EXPECT_EQ(Floats(c.output), (std::vector<float>{4}));
  EXPECT_EQ(Floats(d.output), (std::vector<float>{6}));
}

TEST(OpHubTest, ShapesMustAgree) {
  const auto hub = MakeRef<OpHub>();
  Result a, b;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1, 2})), &a);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1})), &b);
  EXPECT_TRUE(absl::IsInvalidArgument(a.status));
  EXPECT_THAT(std::string(b.status.message()), ::testing::HasSubstr("Shape mismatch"));
}

TEST(OpHubTest, GroupSizeAndKindMustAgree) {
  const auto hub = MakeRef<OpHub>();
  Result a, b, c;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1})), &a);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1}), 3), &b);
  EXPECT_THAT(std::string(b.status.message()), ::testing::HasSubstr("but that group has size 2"));
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1}), 2, OpKind::kGather), &c);
  EXPECT_THAT(std::string(c.status.message()),
              ::testing::HasSubstr("instance 1 expected type 0 and data_type 1 but got type 2 and data_type 1"));
  Result d;
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1})), &d);  // the others do not harm the round
  EXPECT_EQ(Floats(a.output), (std::vector<float>{2}));
}

TEST(OpHubTest, BroadcastNeedsOneSource) {
  const auto hub = MakeRef<OpHub>();
  Result a, b, c, d;
  OpRequest source = Request("CPU:1", Tensor::Vector<float>({5}), 2, OpKind::kBroadcast);
  source.is_source = true;
  OpRequest receiver = Request("CPU:0", Tensor(), 2, OpKind::kBroadcast);
  receiver.dtype = DType::kFloat;
  RunOp(*hub, receiver, &a);
  RunOp(*hub, source, &b);
  EXPECT_EQ(Floats(a.output), (std::vector<float>{5}));
  EXPECT_EQ(Floats(b.output), (std::vector<float>{5}));
  RunOp(*hub, receiver, &c);
  receiver.member = "CPU:1";
  RunOp(*hub, receiver, &d);
  EXPECT_THAT(std::string(c.status.message()), ::testing::HasSubstr("found no source for broadcast"));
}

TEST(OpHubTest, TimesOutAndSaysWhoHasEntered) {
  const auto hub = MakeRef<OpHub>();
  Result a;
  OpRequest request = Request("CPU:0", Tensor::Vector<float>({1}));
  request.timeout_seconds = 0.05;
  RunOp(*hub, request, &a);
  a.done.Wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(a.status));
  EXPECT_THAT(std::string(a.status.message()),
              ::testing::HasSubstr("Collective has timed out waiting for other workers for 0.05 s (all-reduce with "
                                   "instance key 1 of group 1 of 2; entered here: CPU:0)"));
}

TEST(OpHubTest, AGroupThatHasMetTimesOutDuringExecution) {
  const auto hub = MakeRef<OpHub>();
  Result a, b, c;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1})), &a);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1})), &b);
  OpRequest request = Request("CPU:0", Tensor::Vector<float>({1}));
  request.timeout_seconds = 0.05;
  RunOp(*hub, request, &c);
  c.done.Wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(c.status));
  EXPECT_THAT(std::string(c.status.message()), ::testing::HasSubstr("Collective has timed out during execution"));
  Result d;
  request.group_size = 3;
  RunOp(*hub, request, &d);
  d.done.Wait();
  EXPECT_THAT(std::string(d.status.message()), ::testing::HasSubstr("waiting for other workers"));
}

TEST(OpHubTest, TypesMustAgree) {
  const auto hub = MakeRef<OpHub>();
  Result a, b, c;
  RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1})), &a);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<double>({1})), &b);
  EXPECT_TRUE(absl::IsInvalidArgument(b.status));
  EXPECT_THAT(std::string(b.status.message()),
              ::testing::HasSubstr("CPU:0 runs all-reduce of float, CPU:1 runs all-reduce of double"));
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1})), &c);
  EXPECT_EQ(a.status, OkStatus());
}

TEST(OpHubTest, InputsThatCannotBeDividedAreRefused) {
  for (const OpKind kind : {OpKind::kAllToAll, OpKind::kReduceScatter}) {
    const auto hub = MakeRef<OpHub>();
    Result a, b;
    RunOp(*hub, Request("CPU:0", Tensor::Vector<float>({1, 2, 3}), 2, kind), &a);
    RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1, 2, 3}), 2, kind), &b);
    EXPECT_TRUE(absl::IsInvalidArgument(a.status)) << a.status;
    EXPECT_TRUE(absl::IsInvalidArgument(b.status)) << b.status;
  }
}

TEST(OpHubTest, CancellationEndsTheRound) {
  const auto hub = MakeRef<OpHub>();
  Cancellation cancellation;
  Result a, b;
  OpRequest request = Request("CPU:0", Tensor::Vector<float>({1}), 3);
  request.cancellation = &cancellation;
  RunOp(*hub, request, &a);
  RunOp(*hub, Request("CPU:1", Tensor::Vector<float>({1}), 3), &b);
  cancellation.StartCancel();
  ASSERT_TRUE(a.done.HasBeenNotified() && b.done.HasBeenNotified());
  EXPECT_TRUE(absl::IsCancelled(a.status));
  EXPECT_TRUE(absl::IsAborted(b.status));
  Result c;
  request.member = "CPU:2";
  RunOp(*hub, request, &c);
  EXPECT_TRUE(absl::IsCancelled(c.status));  // the step is over
}

}  // namespace
}  // namespace millstream::collective
