// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "millstream/graph/import/export.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/graph.pb.h"
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
    AddAnnouncedNext(iterator, shapes);
    ASSERT_TRUE(s_.ok()) << s_.status();
    session_ = *NewSession();
    ASSERT_TRUE(session_->Extend(*s_.graph()).ok());
  }
  // "announced_next" says that it begins before it waits for an element; "began" waits for that.
  void AddAnnouncedNext(Output iterator, const AttrValue& shapes) {
    const AttrValue types = AttrValue::DTypes{DType::kBool};
    const Output beginnings =
        s_.Op("FIFOQueueV2", {}, {{"component_types", types}, {"shared_name", std::string("beginnings")}});
    Node* const announce = s_.Add("QueueEnqueueV2", {beginnings, s_.Const(true)});
    s_.WithOpName("began").Add("QueueDequeueV2", {beginnings}, {{"component_types", types}});
    s_.WithOpName("announced_next")
        .WithControlDependencies({announce})
        .Add("IteratorGetNext", {iterator}, {{"output_types", kTypes}, {"output_shapes", shapes}});
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
      EXPECT_EQ(session_->Run({}, {}, {"began"}, nullptr), OkStatus());
      cancellation.StartCancel();
    });
    std::vector<Tensor> out;
    const Status status = session_->Run(options, {}, {"announced_next"}, {}, &out, nullptr);
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

constexpr char kDivide[] = R"pb(
  signature {
    name: "divide"
    input_arg { name: "x" type: DT_INT64 }
    input_arg { name: "numerator" type: DT_INT64 }
    output_arg { name: "y" type: DT_INT64 }
  }
  node_def {
    name: "quotient"
    op: "FloorDiv"
    input: "numerator"
    input: "x"
    attr {
      key: "T"
      value { type: DT_INT64 }
    }
  }
  ret { key: "y" value: "quotient:z:0" }
)pb";

// TensorFlow 2.21 fails in these ops, so that nothing can be recorded of them.
TEST_F(DatasetTest, SeedGeneratorsOfBothNamesGiveTheSameSeeds) {
  std::vector<int64_t> orders[2];
  for (const bool newer : {false, true}) {
    s_ = Scope::Root();
    std::vector<Output> inputs = {s_.Const<int64_t>(5), s_.Const<int64_t>(6)};
    if (newer) inputs.push_back(s_.Const(true));
    Node* generator = s_.Add(newer ? "AnonymousSeedGenerator" : "AnonymousRandomSeedGenerator", inputs);
    s_.WithOpName("delete").Add("DeleteRandomSeedGenerator", {Output(generator, 0), Output(generator, 1)});
    Output shuffled = s_.Op("ShuffleDatasetV2", {Range(20), s_.Const<int64_t>(8), Output(generator, 0)},
                            {{"output_types", kTypes}, {"output_shapes", kShapes}});
    Iterate(Counted("RepeatDataset", shuffled, 2));
    ASSERT_TRUE(Start().ok());
    for (int i = 0; i < 40; ++i) orders[newer].push_back(*Next());
    EXPECT_TRUE(session_->Run({}, {}, {"delete"}, nullptr).ok());
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(std::vector<int64_t>(orders[0].begin(), orders[0].begin() + 20),
            std::vector<int64_t>(orders[0].begin() + 20, orders[0].end()));
}

TEST_F(DatasetTest, CachesAreForOneType) {
  const AttrValue strings = AttrValue::DTypes{DType::kString};
  Node* cache = s_.Add("AnonymousMemoryCache", {});
  s_.WithOpName("delete").Add("DeleteMemoryCache", {Output(cache, 0), Output(cache, 1)});
  Output none = s_.Const(std::string());
  Output numbers = s_.Op("CacheDatasetV2", {Range(2), none, Output(cache, 0)},
                         {{"output_types", kTypes}, {"output_shapes", kShapes}});
  Output text =
      s_.Op("TensorDataset", {s_.Const(std::string("a"))}, {{"Toutput_types", strings}, {"output_shapes", kShapes}});
  Output texts =
      s_.Op("CacheDatasetV2", {text, none, Output(cache, 0)}, {{"output_types", strings}, {"output_shapes", kShapes}});
  s_.WithOpName("both").Add("ZipDataset", {numbers, texts},
                            {{"output_types", AttrValue::DTypes{DType::kInt64, DType::kString}},
                             {"output_shapes", AttrValue::Shapes{PartialShape({}), PartialShape({})}},
                             {"N", int64_t{2}}});
  Iterate(numbers);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(*Next(), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(session_->Run({}, {}, {"both"}, nullptr)));
  EXPECT_TRUE(session_->Run({}, {}, {"delete"}, nullptr).ok());
}

class MapTest : public DatasetTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // numerator / x for the elements of `input`.
  Output Divide(Output input) {
    std::vector<Output> inputs = {input, s_.Const<int64_t>(60)};
    const bool parallel = std::string(GetParam()) == "ParallelMapDatasetV2";
    if (parallel) inputs.push_back(s_.Const<int64_t>(3));
    return s_.Op(GetParam(), inputs,
                 {{"f", NameAttrList{"divide", {}}},
                  {"Targuments", kTypes},
                  {"output_types", kTypes},
                  {"output_shapes", kShapes}});
  }
  void StartWithFunctions(Output dataset) {
    Iterate(dataset);
    proto::GraphDef def;
    ASSERT_TRUE(ExportGraph(*s_.graph(), &def).ok());
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kDivide, def.mutable_library()->add_function()));
    session_ = *NewSession();
    ASSERT_TRUE(session_->Create(def).ok());
    ASSERT_TRUE(Start().ok());
  }
};

// The error is that of its element alone, also where calls run ahead in the background.
TEST_P(MapTest, GoesOnAfterAnError) {
  for (const bool prefetch : {false, true}) {
    s_ = Scope::Root();
    Output divided = Divide(Range(4));
    StartWithFunctions(prefetch ? Counted("PrefetchDataset", divided, 2) : divided);
    const Status status = Next().status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    for (const int64_t want : {60, 30, 20}) {
      const StatusOr<int64_t> got = Next();
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(*got, want);
    }
    EXPECT_TRUE(absl::IsOutOfRange(Next().status()));
  }
}

TEST_P(MapTest, ManyStepsShareAnIterator) {
  constexpr int64_t kElements = 300;
  StartWithFunctions(Counted("PrefetchDataset", Divide(Counted("SkipDataset", Range(kElements + 1), 1)), 5));
  std::atomic<int64_t> sum = 0, count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (StatusOr<int64_t> got = Next(); got.ok(); got = Next()) sum += *got, ++count;
    });
  }
  for (std::thread& t : threads) t.join();
  int64_t want = 0;
  for (int64_t x = 1; x <= kElements; ++x) want += 60 / x;
  EXPECT_EQ(count, kElements);
  EXPECT_EQ(sum, want);
}

TEST_P(MapTest, SessionsEndWhileCallsRun) {
  for (int i = 0; i < 20; ++i) {
    s_ = Scope::Root();
    Output endless = Divide(Counted("RepeatDataset", Counted("SkipDataset", Range(5), 1), -1));
    StartWithFunctions(Counted("PrefetchDataset", endless, 100));
    EXPECT_EQ(*Next(), 60);
    session_.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MapTest, ::testing::Values("MapDataset", "ParallelMapDatasetV2"));

}  // namespace
}  // namespace millstream
