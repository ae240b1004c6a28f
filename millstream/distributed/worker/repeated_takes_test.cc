// SPDX-License-Identifier: Apache-2.0
// Steps that a client repeats after an outage take from iterators, readers, barriers and staging areas once, and put
// into them and into tables once. (Queues and accumulators: repeated_acts_test.cc.)
#include <gtest/gtest.h>

#include <thread>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using testing::DirectCluster;

constexpr size_t kMaster = 0, kPs = 1;

class RepeatedTakesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    value_ = root_.WithDevice(tasks_[kMaster]).WithOpName("value").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    AddIterator();
    AddReader();
    AddBarrier();
    AddStagingArea();
    AddTable();
    ASSERT_TRUE(root_.ok()) << root_.status();
  }

  void AddIterator() {
    const std::vector<DType> types{DType::kInt64};
    const std::vector<PartialShape> shapes{PartialShape(Shape())};
    const auto at = [&](const char* name, int64_t value) { return ps_.WithOpName(name).Const<int64_t>(value); };
    const Output range = ps_.WithOpName("range").Op("RangeDataset", {at("from", 0), at("to", 9), at("by", 1)},
                                                    {{"output_types", types}, {"output_shapes", shapes}});
    const Output iterator = ps_.WithOpName("iterator")
                                .Op("IteratorV2", {},
                                    {{"output_types", types},
                                     {"output_shapes", shapes},
                                     {"container", std::string("")},
                                     {"shared_name", std::string("iterator")}});
    ps_.WithOpName("make").Add("MakeIterator", {range, iterator});
    ps_.WithOpName("next").Add("IteratorGetNext", {iterator}, {{"output_types", types}, {"output_shapes", shapes}});
  }

  void AddReader() {
    const std::vector<DType> types{DType::kString};
    const Output files = ps_.WithOpName("files").Op(
        "FIFOQueueV2", {}, {{"component_types", types}, {"shared_name", std::string("files")}});
    ps_.WithOpName("fill").Add("QueueEnqueueManyV2", {files, ps_.Const(Tensor::Vector<std::string>({"a", "b", "c"}))},
                               {{"Tcomponents", types}});
    const Output reader = ps_.WithOpName("reader").Op("IdentityReaderV2", {}, {{"shared_name", std::string("reader")}});
    ps_.WithOpName("read").Add("ReaderReadV2", {reader, files});
    ps_.WithOpName("records").Add("ReaderNumRecordsProducedV2", {reader});
  }

  void AddBarrier() {
    const std::vector<DType> types{DType::kFloat};
    const Output barrier = ps_.WithOpName("barrier").Op("Barrier", {},
                                                        {{"component_types", types},
                                                         {"shapes", std::vector<PartialShape>{PartialShape(Shape())}},
                                                         {"shared_name", std::string("barrier")}});
    ps_.WithOpName("insert").Add(
        "BarrierInsertMany",
        {barrier, ps_.Const(Tensor::Vector<std::string>({"a", "b"})), ps_.Const(Tensor::Vector<float>({1, 2}))},
        {{"T", DType::kFloat}, {"component_index", int64_t{0}}});
    ps_.WithOpName("take_one").Add("BarrierTakeMany", {barrier, ps_.Const(1)}, {{"component_types", types}});
    ps_.WithOpName("ready").Add("BarrierReadySize", {barrier});
  }

  void AddStagingArea() {
    const std::vector<DType> types{DType::kFloat};
    const std::string area = "area";
    ps_.WithOpName("stage").Add("Stage", {value_}, {{"dtypes", types}, {"shared_name", area}});
    ps_.WithOpName("unstage").Add("Unstage", {}, {{"dtypes", types}, {"shared_name", area}});
    ps_.WithOpName("staged").Add("StageSize", {}, {{"dtypes", types}, {"shared_name", area}});
  }

  void AddTable() {
    const Output table = ps_.WithOpName("table").Op(
        "MutableHashTableV2", {},
        {{"key_dtype", DType::kString}, {"value_dtype", DType::kFloat}, {"shared_name", std::string("table")}});
    const Output key = ps_.WithOpName("key").Const(std::string("a"));
    ps_.WithOpName("set").Add("LookupTableInsertV2", {table, key, value_});
    ps_.WithOpName("remove").Add("LookupTableRemoveV2", {table, ps_.Const(Tensor::Vector<std::string>({"a"}))});
    ps_.WithOpName("found").Add("LookupTableFindV2", {table, key, ps_.Const(-1.0f)});
  }

  std::unique_ptr<MasterSession> NewSession() {
    auto session = cluster_.NewSession();
    EXPECT_TRUE(session->Extend(*root_.graph()).ok());
    return session;
  }
  // An attempt of a step, in a session of its own.
  Status Run(StepIdentity identity, const std::string& target, float value = 1) {
    RunOptions options;
    options.timeout_ms = 60'000;
    options.identity = identity;
    return NewSession()->Run(options, {{"value:0", Tensor::Scalar(value)}}, {}, {target}, nullptr, nullptr);
  }
  // What it gives, as text.
  static std::string Fetch(MasterSession& session, StepIdentity identity, const std::string& name) {
    RunOptions options;
    options.timeout_ms = 60'000;
    options.identity = identity;
    std::vector<Tensor> out;
    const Status status = session.Run(options, {}, {name}, {}, &out, nullptr);
    return status.ok() ? out[0].SummarizeValue() : std::string(status.message());
  }
  std::string Fetch(StepIdentity identity, const std::string& name) { return Fetch(*NewSession(), identity, name); }
  std::string Now(const std::string& name) { return Fetch({}, name); }

  // Three attempts of a step give the same; the step of another client the next.
  void ExpectTakenOnce(const std::string& name) {
    const std::string first = Fetch({7, 1}, name);
    EXPECT_EQ(Fetch({7, 1}, name), first);
    auto session = NewSession();
    cluster_.Lose(kMaster, kPs);
    Fetch(*session, {7, 1}, name);  // its answer is lost
    EXPECT_EQ(Fetch({7, 1}, name), first);
    EXPECT_NE(Fetch({8, 1}, name), first);
  }
  template <typename T>
  static std::string Text(T value) {
    return Tensor::Scalar(value).SummarizeValue();
  }

  const std::vector<std::string> tasks_ = {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"};
  DirectCluster cluster_{tasks_, std::chrono::milliseconds(50)};
  Scope root_ = Scope::Root();
  const Scope ps_ = root_.WithDevice(tasks_[kPs]);
  Output value_;
};

TEST_F(RepeatedTakesTest, FromAnIterator) {
  ASSERT_EQ(Run({}, "make"), OkStatus());
  ExpectTakenOnce("next:0");
  EXPECT_EQ(Now("next:0"), Text<int64_t>(2));
}

TEST_F(RepeatedTakesTest, FromAReader) {
  ASSERT_EQ(Run({}, "fill"), OkStatus());
  ExpectTakenOnce("read:1");
  EXPECT_EQ(Now("records:0"), Text<int64_t>(2));
}

TEST_F(RepeatedTakesTest, FromABarrierAndIntoIt) {
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Run({6, 1}, "insert"), OkStatus());
  EXPECT_EQ(Now("ready:0"), Text<int32_t>(2));
  ExpectTakenOnce("take_one:1");
  EXPECT_EQ(Now("ready:0"), Text<int32_t>(0));
}

TEST_F(RepeatedTakesTest, FromAStagingAreaAndIntoIt) {
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Run({6, 1}, "stage", 1), OkStatus());
  EXPECT_EQ(Run({6, 2}, "stage", 2), OkStatus());
  EXPECT_EQ(Now("staged:0"), Text<int32_t>(2));
  ExpectTakenOnce("unstage:0");
  EXPECT_EQ(Now("staged:0"), Text<int32_t>(0));
}

// What another client has set meanwhile stays.
TEST_F(RepeatedTakesTest, IntoATable) {
  EXPECT_EQ(Run({7, 1}, "set", 1), OkStatus());
  EXPECT_EQ(Run({8, 1}, "set", 2), OkStatus());
  EXPECT_EQ(Run({7, 1}, "set", 1), OkStatus());
  EXPECT_EQ(Now("found:0"), Text(2.0f));
  EXPECT_EQ(Run({7, 2}, "remove"), OkStatus());
  EXPECT_EQ(Run({8, 2}, "set", 3), OkStatus());
  EXPECT_EQ(Run({7, 2}, "remove"), OkStatus());
  EXPECT_EQ(Now("found:0"), Text(3.0f));
}

}  // namespace
}  // namespace millstream
