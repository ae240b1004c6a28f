// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/devices/multi_device_iterator.h"

#include <gtest/gtest.h>

#include <thread>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

const AttrValue kTypes = AttrValue::DTypes{DType::kInt64};
const AttrValue kShapes = AttrValue::Shapes{PartialShape({})};

class MultiDeviceIteratorTest : public ::testing::Test {
 protected:
  // Nodes "start", and "next" of a shard and an incarnation that are fed.
  void Build(int64_t skipped, int64_t max_buffer_size, int shards = 2) {
    const Output range =
        s_.Op("RangeDataset", {s_.Const<int64_t>(0), s_.Const<int64_t>(INT64_MAX), s_.Const<int64_t>(1)},
              {{"output_types", kTypes}, {"output_shapes", kShapes}});
    const Output dataset = s_.Op("SkipDataset", {range, s_.Const<int64_t>(skipped)},
                                 {{"output_types", kTypes}, {"output_shapes", kShapes}});
    const AttrValue::Strings devices(static_cast<size_t>(shards), "/cpu:0");
    const Output iterator = s_.Op("MultiDeviceIterator", {},
                                  {{"devices", devices},
                                   {"shared_name", std::string("it")},
                                   {"container", std::string()},
                                   {"output_types", kTypes},
                                   {"output_shapes", kShapes}});
    s_.WithOpName("start").Add("MultiDeviceIteratorInit", {dataset, iterator, s_.Const<int64_t>(max_buffer_size)});
    const Output shard = s_.WithOpName("shard").Op("Placeholder", {}, {{"dtype", DType::kInt32}});
    const Output incarnation = s_.WithOpName("incarnation").Op("Placeholder", {}, {{"dtype", DType::kInt64}});
    s_.WithOpName("next").Add("MultiDeviceIteratorGetNextFromShard", {iterator, shard, incarnation},
                              {{"output_types", kTypes}, {"output_shapes", kShapes}});
    ASSERT_TRUE(s_.ok()) << s_.status();
    session_ = *NewSession();
    ASSERT_TRUE(session_->Extend(*s_.graph()).ok());
  }
  StatusOr<int64_t> Start() {
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session_->Run({}, {"start"}, {}, &out));
    return out[0].scalar<int64_t>();
  }
  StatusOr<int64_t> Next(int32_t shard, int64_t incarnation, const RunOptions& options = {}) {
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session_->Run(options,
                                  {{"shard", Tensor::Scalar(shard)}, {"incarnation", Tensor::Scalar(incarnation)}},
                                  {"next"}, {}, &out, nullptr));
    return out[0].scalar<int64_t>();
  }

  Scope s_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(MultiDeviceIteratorTest, DealsInTurnWhoeverAsksFirst) {
  Build(0, 1, 3);
  EXPECT_TRUE(absl::IsFailedPrecondition(Next(0, 1).status()));
  ASSERT_EQ(*Start(), 1);
  std::vector<std::thread> askers;
  std::vector<std::vector<int64_t>> got(3);
  for (int32_t shard = 0; shard < 3; ++shard) {
    askers.emplace_back([&, shard] {
      for (int i = 0; i < 200; ++i) got[static_cast<size_t>(shard)].push_back(*Next(shard, 1));
    });
  }
  for (std::thread& asker : askers) asker.join();
  for (int64_t shard = 0; shard < 3; ++shard) {
    for (int64_t i = 0; i < 200; ++i) EXPECT_EQ(got[static_cast<size_t>(shard)][static_cast<size_t>(i)], 3 * i + shard);
  }
}

TEST_F(MultiDeviceIteratorTest, OneThatNobodyAsksHoldsTheOthersUp) {
  Build(0, 1);
  ASSERT_EQ(*Start(), 1);
  EXPECT_EQ(*Next(0, 1), 0);
  EXPECT_EQ(*Next(0, 1), 2);  // element 1 waits in the buffer of the other shard, which is full now
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  StatusOr<int64_t> third = int64_t{-1};
  std::thread asker([&] { third = Next(0, 1, options); });
  EXPECT_EQ(*Next(1, 1), 1);
  asker.join();
  EXPECT_EQ(*third, 4);
}

TEST_F(MultiDeviceIteratorTest, AWaitEndsWithItsStep) {
  Build(INT64_MAX, 1);  // takes for ever
  ASSERT_EQ(*Start(), 1);
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread canceller([&] { cancellation.StartCancel(); });
  EXPECT_TRUE(absl::IsCancelled(Next(1, 1, options).status()));
  canceller.join();
}

TEST_F(MultiDeviceIteratorTest, AnotherIncarnationEndsTheWaitsOfTheLast) {
  Build(INT64_MAX, 1);
  ASSERT_EQ(*Start(), 1);
  Status first;
  std::thread asker([&] { first = Next(0, 1).status(); });
  ASSERT_EQ(*Start(), 2);
  asker.join();
  EXPECT_TRUE(absl::IsCancelled(first) || absl::IsInvalidArgument(first)) << first;
  EXPECT_TRUE(absl::IsInvalidArgument(Next(0, 1).status()));
}

TEST_F(MultiDeviceIteratorTest, ANegativeBufferIsRefused) {
  Build(0, -1);
  EXPECT_TRUE(absl::IsInvalidArgument(Start().status()));
}

}  // namespace
}  // namespace millstream
