// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

const AttrValue kTypes = AttrValue::DTypes{DType::kInt64};
const AttrValue kShapes = AttrValue::Shapes{PartialShape({})};

class DatasetTest : public ::testing::Test {
 protected:
  Output Range(int64_t n) {
    return s_.Op("RangeDataset", {s_.Const<int64_t>(0), s_.Const<int64_t>(n), s_.Const<int64_t>(1)},
                 {{"output_types", kTypes}, {"output_shapes", kShapes}});
  }
  Output Counted(const char* op, Output input, int64_t n) {
    return s_.Op(op, {input, s_.Const<int64_t>(n)}, {{"output_types", kTypes}, {"output_shapes", kShapes}});
  }
  void Iterate(Output dataset, AttrValue shapes = kShapes) {
    Output iterator =
        s_.Op("IteratorV2", {},
              {{"shared_name", "it"}, {"container", ""}, {"output_types", kTypes}, {"output_shapes", shapes}});
    s_.WithOpName("start").Add("MakeIterator", {dataset, iterator});
    s_.WithOpName("next").Add("IteratorGetNext", {iterator}, {{"output_types", kTypes}, {"output_shapes", shapes}});
    ASSERT_TRUE(s_.ok()) << s_.status();
    session_ = *NewSession();
    ASSERT_TRUE(session_->Extend(*s_.graph()).ok());
  }
  Status Start() { return session_->Run({}, {}, {"start"}, nullptr); }
  StatusOr<int64_t> Next() {
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session_->Run({}, {"next"}, {}, &out));
    return out[0].scalar<int64_t>();
  }

  Scope s_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

TEST_F(DatasetTest, RangeEndsAndStartsAgain) {
  Iterate(Range(3));
  EXPECT_TRUE(absl::IsFailedPrecondition(Next().status()));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(Start().ok());
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(*Next(), i);
    EXPECT_TRUE(absl::IsOutOfRange(Next().status()));
    EXPECT_TRUE(absl::IsOutOfRange(Next().status()));
  }
}

TEST_F(DatasetTest, TakeSkipRepeatConcatenate) {
  Output part = Counted("TakeDataset", Counted("SkipDataset", Range(10), 4), 2);  // 4 5
  Output twice = Counted("RepeatDataset", part, 2);
  Iterate(s_.Op("ConcatenateDataset", {twice, Range(1)}, {{"output_types", kTypes}, {"output_shapes", kShapes}}));
  ASSERT_TRUE(Start().ok());
  for (const int64_t want : {4, 5, 4, 5, 0}) EXPECT_EQ(*Next(), want);
  EXPECT_TRUE(absl::IsOutOfRange(Next().status()));
}

TEST_F(DatasetTest, PrefetchKeepsTheOrderAndItsThreadEnds) {
  Iterate(Counted("PrefetchDataset", Counted("RepeatDataset", Range(100), -1), 4));
  ASSERT_TRUE(Start().ok());
  for (int64_t i = 0; i < 250; ++i) EXPECT_EQ(*Next(), i % 100);
  ASSERT_TRUE(Start().ok());  // ends the first walk, whose thread is at work
  EXPECT_EQ(*Next(), 0);
  session_.reset();
}

TEST_F(DatasetTest, EmptyForEverEnds) {
  Iterate(Counted("RepeatDataset", Range(0), -1));
  ASSERT_TRUE(Start().ok());
  EXPECT_TRUE(absl::IsOutOfRange(Next().status()));
}

// GetNext never holds a thread of the session, and gives up with its step.
TEST_F(DatasetTest, CancellationEndsAWait) {
  for (const bool prefetch : {false, true}) {
    s_ = Scope::Root();
    Output endless = Counted("SkipDataset", Range(INT64_MAX), INT64_MAX);
    Iterate(prefetch ? Counted("PrefetchDataset", endless, 1) : endless);
    ASSERT_TRUE(Start().ok());
    Cancellation cancellation;
    RunOptions options;
    options.cancellation = &cancellation;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      cancellation.StartCancel();
    });
    std::vector<Tensor> out;
    const Status status = session_->Run(options, {}, {"next"}, {}, &out, nullptr);
    canceller.join();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    session_.reset();
  }
}

TEST_F(DatasetTest, ZipEndsWithTheShortest) {
  const AttrValue types = AttrValue::DTypes{DType::kInt64, DType::kInt64};
  const AttrValue shapes = AttrValue::Shapes{PartialShape({}), PartialShape({})};
  Output zip = s_.Op("ZipDataset", {Range(2), Counted("SkipDataset", Range(9), 5)},
                     {{"output_types", types}, {"output_shapes", shapes}});
  Output iterator = s_.Op(
      "IteratorV2", {}, {{"shared_name", "it"}, {"container", ""}, {"output_types", types}, {"output_shapes", shapes}});
  s_.WithOpName("start").Add("MakeIterator", {zip, iterator});
  s_.WithOpName("next").Add("IteratorGetNext", {iterator}, {{"output_types", types}, {"output_shapes", shapes}});
  ASSERT_TRUE(s_.ok()) << s_.status();
  session_ = *NewSession();
  ASSERT_TRUE(session_->Extend(*s_.graph()).ok());
  ASSERT_TRUE(Start().ok());
  for (int64_t i = 0; i < 2; ++i) {
    std::vector<Tensor> out;
    ASSERT_TRUE(session_->Run({}, {"next:0", "next:1"}, {}, &out).ok());
    EXPECT_EQ(out[0].scalar<int64_t>(), i);
    EXPECT_EQ(out[1].scalar<int64_t>(), 5 + i);
  }
  EXPECT_TRUE(absl::IsOutOfRange(Next().status()));
}

TEST_F(DatasetTest, TypesOfIteratorAndDatasetMustFit) {
  Iterate(Range(3), AttrValue::Shapes{PartialShape({2})});
  EXPECT_TRUE(absl::IsInvalidArgument(Start()));
}

}  // namespace
}  // namespace millstream
