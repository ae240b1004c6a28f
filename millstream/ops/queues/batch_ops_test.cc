// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/base/notification.h"
#include "millstream/ops/queues/batch_queue.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMinute = 60'000'000;

std::vector<std::pair<std::string, AttrValue>> BatchAttrs(int64_t max_rows, int64_t timeout_us,
                                                          std::vector<int64_t> allowed = {},
                                                          std::vector<DType> types = {DType::kInt32}) {
  return {{"num_batch_threads", AttrValue(int64_t{1})},           {"max_batch_size", AttrValue(max_rows)},
          {"batch_timeout_micros", AttrValue(timeout_us)},        {"grad_timeout_micros", AttrValue(int64_t{0})},
          {"allowed_batch_sizes", AttrValue(std::move(allowed))}, {"T", AttrValue(std::move(types))}};
}

std::vector<int32_t> Ints(const Tensor& t) { return {t.data<int32_t>(), t.data<int32_t>() + t.num_elements()}; }

// A call that has been started.
struct StartedCall {
  Notification ended;
  StatusOr<std::vector<Edge>> result = errors::Internal("not ended");

  StartedCall(OpRunner& op, std::vector<Edge> inputs) {
    op.Start(std::move(inputs), [this](StatusOr<std::vector<Edge>> r) {
      result = std::move(r);
      ended.Notify();
    });
  }
  const Tensor& output(size_t i) {
    ended.Wait();
    return (*result)[i].tensor;
  }
  Status status() {
    ended.Wait();
    return result.status();
  }
};

class BatchOpsTest : public ::testing::Test {
 protected:
  OpRunner::Env env_{2};
};

TEST_F(BatchOpsTest, JoinsCallsUntilABatchIsFull) {
  OpRunner batch(env_, "Batch", BatchAttrs(3, kMinute));
  ASSERT_TRUE(batch.status().ok()) << batch.status();
  StartedCall first(batch, {Tensor::Vector<int32_t>({1, 2})});
  EXPECT_FALSE(first.ended.HasBeenNotified());
  StartedCall second(batch, {Tensor::Vector<int32_t>({3})});
  ASSERT_TRUE(first.status().ok()) << first.status();
  ASSERT_TRUE(second.status().ok()) << second.status();
  // The last one has all rows.
  EXPECT_EQ(first.output(0).num_elements(), 0);
  EXPECT_EQ(first.output(1).shape(), Shape({0, 3}));
  EXPECT_THAT(Ints(second.output(0)), ElementsAre(1, 2, 3));
  const int64_t* index = second.output(1).data<int64_t>();
  EXPECT_THAT(std::vector<int64_t>(index, index + 6),
              ElementsAre(first.output(2).scalar<int64_t>(), 0, 2, second.output(2).scalar<int64_t>(), 2, 3));
}

TEST_F(BatchOpsTest, PadsWhatHasWaitedLongEnough) {
  OpRunner batch(env_, "Batch", BatchAttrs(8, 1000, {4, 8}));
  StartedCall call(batch, {Tensor::Vector<int32_t>({5, 6})});
  ASSERT_TRUE(call.status().ok()) << call.status();
  EXPECT_THAT(Ints(call.output(0)), ElementsAre(5, 6, 5, 5));
  EXPECT_EQ(call.output(1).shape(), Shape({1, 3}));
}

TEST_F(BatchOpsTest, RefusesWhatDoesNotFit) {
  OpRunner batch(env_, "Batch", BatchAttrs(2, 0));
  EXPECT_THAT(StartedCall(batch, {Tensor::Vector<int32_t>({1, 2, 3})}).status().message(), HasSubstr("larger than"));
  EXPECT_TRUE(absl::IsInvalidArgument(StartedCall(batch, {Tensor::Scalar<int32_t>(1)}).status()));
  for (const auto& [max_rows, allowed] :
       std::vector<std::pair<int64_t, std::vector<int64_t>>>{{0, {}}, {4, {2, 2, 4}}, {4, {2, 3}}, {4, {0, 4}}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpRunner(env_, "Batch", BatchAttrs(max_rows, 0, allowed)).status()));
  }
  EXPECT_EQ(OpRunner(env_, "Batch", BatchAttrs(2, -5)).status().message(),
            "batch_timeout_micros must be non-negative; was -5");
  constexpr int64_t kTooLong = int64_t{std::numeric_limits<int32_t>::max()} + 1;
  EXPECT_THAT(OpRunner(env_, "Batch", BatchAttrs(2, kTooLong)).status().message(), HasSubstr("out of range"));
  OpRunner unbatch(env_, "Unbatch", {{"timeout_micros", AttrValue(kTooLong)}, {"T", AttrValue(DType::kInt32)}});
  EXPECT_THAT(unbatch.status().message(), HasSubstr("out of range"));
}

// Nodes of different steps meet by the name of a queue, and need not be alike.
TEST_F(BatchOpsTest, OnlyAlikeCallsShareABatch) {
  const auto two_rows = Tensor::Vector<int32_t>({1, 2});
  OpRunner ints(env_, "Batch", BatchAttrs(4, kMinute));
  OpRunner pairs(env_, "Batch", BatchAttrs(4, kMinute, {}, {DType::kInt32, DType::kInt32}));
  OpRunner floats(env_, "Batch", BatchAttrs(4, kMinute, {}, {DType::kFloat}));
  auto attrs = BatchAttrs(4, kMinute);
  std::erase_if(attrs, [](const auto& attr) { return attr.first == "T" || attr.first == "grad_timeout_micros"; });
  attrs.emplace_back("f", AttrValue(NameAttrList{"nowhere", {}}));
  attrs.emplace_back("Tin", AttrValue(std::vector<DType>{DType::kInt32}));
  attrs.emplace_back("Tcaptured", AttrValue(std::vector<DType>{}));
  attrs.emplace_back("Tout", AttrValue(std::vector<DType>{DType::kInt32, DType::kInt64, DType::kInt64}));
  OpRunner function(env_, "BatchFunction", attrs, "Batch");
  for (const OpRunner* op : {&ints, &pairs, &floats, &function}) ASSERT_TRUE(op->status().ok()) << op->status();

  StartedCall first(ints, {two_rows});
  EXPECT_TRUE(absl::IsInvalidArgument(StartedCall(pairs, {two_rows, two_rows}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(StartedCall(floats, {Tensor::Vector<float>({1, 2})}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(StartedCall(function, {two_rows}).status()));
  EXPECT_FALSE(first.ended.HasBeenNotified());
  StartedCall second(ints, {two_rows});
  ASSERT_TRUE(second.status().ok()) << second.status();
  EXPECT_THAT(Ints(second.output(0)), ElementsAre(1, 2, 1, 2));
  ASSERT_TRUE(first.status().ok()) << first.status();
  // With nobody there, any may begin.
  StartedCall whole(floats, {Tensor::Vector<float>({1, 2, 3, 4})});
  EXPECT_TRUE(whole.status().ok()) << whole.status();
}

// A batch outlives the kernel, the threads and the session of the call that it began with.
TEST_F(BatchOpsTest, WhoBeganABatchMayLeave) {
  constexpr char kName[] = "Batch/Batch";
  auto began = std::make_unique<OpRunner::Env>(2);
  auto batch = std::make_unique<OpRunner>(*began, "Batch", BatchAttrs(4, kMinute));
  StartedCall first(*batch, {Tensor::Vector<int32_t>({1, 2})});
  const StatusOr<Ref<BatchQueue>> queue = began->resources.Lookup<BatchQueue>("", kName);
  ASSERT_TRUE(queue.ok()) << queue.status();
  ASSERT_TRUE(env_.resources.Create<BatchQueue>("", kName, *queue).ok());
  OpRunner other(env_, "Batch", BatchAttrs(4, kMinute));
  StartedCall second(other, {Tensor::Vector<int32_t>({3})});
  began->cancellation.StartCancel();
  ASSERT_TRUE(absl::IsCancelled(first.status())) << first.status();
  batch.reset();
  began.reset();
  StartedCall third(other, {Tensor::Vector<int32_t>({4, 5, 6})});
  ASSERT_TRUE(third.status().ok()) << third.status();
  EXPECT_THAT(Ints(third.output(0)), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(third.output(1).shape(), Shape({2, 3}));
  EXPECT_TRUE(second.status().ok()) << second.status();
}

TEST_F(BatchOpsTest, TheLongestTimeoutIsNotAtOnce) {
  constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  OpRunner batch(env_, "Batch", BatchAttrs(2, kLongest));
  OpRunner unbatch(env_, "Unbatch", {{"timeout_micros", AttrValue(kLongest)}, {"T", AttrValue(DType::kInt32)}});
  StartedCall waits(batch, {Tensor::Vector<int32_t>({1})});
  StartedCall wants(
      unbatch, {Tensor(DType::kInt32, Shape({0})), Tensor(DType::kInt64, Shape({0, 3})), Tensor::Scalar<int64_t>(7)});
  EXPECT_FALSE(waits.ended.WaitUntil(soon));
  EXPECT_FALSE(wants.ended.WaitUntil(soon));
  env_.cancellation.StartCancel();
  EXPECT_TRUE(absl::IsCancelled(waits.status())) << waits.status();
  EXPECT_TRUE(absl::IsCancelled(wants.status())) << wants.status();
}

TEST_F(BatchOpsTest, CancelledCallsLeave) {
  OpRunner batch(env_, "Batch", BatchAttrs(2, kMinute));
  OpRunner unbatch(env_, "Unbatch", {{"timeout_micros", AttrValue(kMinute)}, {"T", AttrValue(DType::kInt32)}});
  StartedCall waits(batch, {Tensor::Vector<int32_t>({1})});
  StartedCall wants(
      unbatch, {Tensor(DType::kInt32, Shape({0})), Tensor(DType::kInt64, Shape({0, 3})), Tensor::Scalar<int64_t>(7)});
  env_.cancellation.StartCancel();
  EXPECT_TRUE(absl::IsCancelled(waits.status()));
  EXPECT_TRUE(absl::IsCancelled(wants.status()));
  EXPECT_TRUE(absl::IsCancelled(StartedCall(batch, {Tensor::Vector<int32_t>({1})}).status()));
}

TEST_F(BatchOpsTest, UnbatchBringsRowsToWhoWaits) {
  OpRunner unbatch(env_, "Unbatch", {{"timeout_micros", AttrValue(kMinute)}, {"T", AttrValue(DType::kInt32)}});
  StartedCall waits(
      unbatch, {Tensor(DType::kInt32, Shape({0})), Tensor(DType::kInt64, Shape({0, 3})), Tensor::Scalar<int64_t>(7)});
  EXPECT_FALSE(waits.ended.HasBeenNotified());
  const Tensor index = Tensor::Of<int64_t>(Shape({3, 3}), {9, 0, 1, 7, 1, 3, 8, 3, 4});
  StartedCall brings(unbatch, {Tensor::Vector<int32_t>({10, 20, 30, 40}), index, Tensor::Scalar<int64_t>(9)});
  EXPECT_THAT(Ints(brings.output(0)), ElementsAre(10));
  EXPECT_THAT(Ints(waits.output(0)), ElementsAre(20, 30));
  StartedCall late(
      unbatch, {Tensor(DType::kInt32, Shape({0})), Tensor(DType::kInt64, Shape({0, 3})), Tensor::Scalar<int64_t>(8)});
  EXPECT_THAT(Ints(late.output(0)), ElementsAre(40));
  const Tensor beyond = Tensor::Of<int64_t>(Shape({1, 3}), {1, 2, 9});
  EXPECT_TRUE(absl::IsInvalidArgument(
      StartedCall(unbatch, {Tensor::Vector<int32_t>({10, 20}), beyond, Tensor::Scalar<int64_t>(1)}).status()));
}

TEST_F(BatchOpsTest, UnbatchGivesUp) {
  OpRunner unbatch(env_, "Unbatch", {{"timeout_micros", AttrValue(int64_t{1000})}, {"T", AttrValue(DType::kInt32)}});
  StartedCall waits(
      unbatch, {Tensor(DType::kInt32, Shape({0})), Tensor(DType::kInt64, Shape({0, 3})), Tensor::Scalar<int64_t>(7)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(waits.status())) << waits.status();
}

TEST_F(BatchOpsTest, UnbatchGradJoinsGradients) {
  OpRunner grad(env_, "UnbatchGrad", {{"T", AttrValue(DType::kInt32)}});
  const Tensor index = Tensor::Of<int64_t>(Shape({2, 3}), {1, 0, 1, 2, 1, 3});
  const Tensor none(DType::kInt32, Shape({0})), no_index(DType::kInt64, Shape({0, 3}));
  StartedCall whole(
      grad, {Tensor::Vector<int32_t>({1, 2, 3}), index, Tensor::Vector<int32_t>({5, 6}), Tensor::Scalar<int64_t>(2)});
  EXPECT_FALSE(whole.ended.HasBeenNotified());
  StartedCall other(grad, {none, no_index, Tensor::Vector<int32_t>({4}), Tensor::Scalar<int64_t>(1)});
  EXPECT_EQ(other.output(0).num_elements(), 0);
  EXPECT_THAT(Ints(whole.output(0)), ElementsAre(4, 5, 6));
}

}  // namespace
}  // namespace millstream
