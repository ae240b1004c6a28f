// SPDX-License-Identifier: Apache-2.0
// Sessions that are closed while iterators of the task still call their functions.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

using testing::DirectCluster;

constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr char kNegate[] = R"pb(
  signature {
    name: "negate"
    input_arg { name: "x" type: DT_INT64 }
    output_arg { name: "y" type: DT_INT64 }
  }
  node_def {
    name: "n"
    op: "Neg"
    input: "x"
    attr {
      key: "T"
      value { type: DT_INT64 }
    }
  }
  ret { key: "y" value: "n:y:0" }
)pb";

// "start" makes the shared iterator walk over -1, -2, ... again and again; "next" is its next element.
proto::GraphDef Program(int64_t length) {
  const AttrValue types = AttrValue::DTypes{DType::kInt64}, shapes = AttrValue::Shapes{PartialShape({})};
  const Scope s = Scope::Root();
  const auto add = [&](const char* op, std::vector<Output> inputs) {
    return s.Op(op, std::move(inputs), {{"output_types", types}, {"output_shapes", shapes}});
  };
  const Output range = add("RangeDataset", {s.Const<int64_t>(1), s.Const<int64_t>(length + 1), s.Const<int64_t>(1)});
  const Output negated = s.Op("MapDataset", {range},
                              {{"f", NameAttrList{"negate", {}}},
                               {"Targuments", AttrValue::DTypes{}},
                               {"output_types", types},
                               {"output_shapes", shapes}});
  const Output repeated = add("RepeatDataset", {negated, s.Const<int64_t>(-1)});
  const Output iterator = s.Op(
      "IteratorV2", {}, {{"shared_name", "it"}, {"container", ""}, {"output_types", types}, {"output_shapes", shapes}});
  s.WithOpName("start").Add("MakeIterator", {repeated, iterator});
  s.WithOpName("next").Add("IteratorGetNext", {iterator}, {{"output_types", types}, {"output_shapes", shapes}});
  EXPECT_EQ(s.status(), OkStatus());
  proto::GraphDef def;
  EXPECT_EQ(ExportGraph(*s.graph(), &def), OkStatus());
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kNegate, def.mutable_library()->add_function()));
  return def;
}

class RetiredSessionsTest : public ::testing::Test {
 protected:
  std::unique_ptr<MasterSession> NewSession() {
    auto session = cluster_.NewSession();
    EXPECT_EQ(session->Create(Program(2)), OkStatus());
    return session;
  }
  static int64_t Next(MasterSession& session) {
    std::vector<Tensor> out;
    const Status status = session.Run({}, {"next"}, {}, &out);
    EXPECT_EQ(status, OkStatus());
    return status.ok() ? out[0].scalar<int64_t>() : 0;
  }

  DirectCluster cluster_{{kWorker}};
};

TEST_F(RetiredSessionsTest, TheIteratorOfAClosedSessionGoesOn) {
  auto maker = NewSession();
  ASSERT_EQ(maker->Run({}, {}, {"start"}, nullptr), OkStatus());
  EXPECT_EQ(Next(*maker), -1);
  ASSERT_EQ(maker->Close(), OkStatus());
  for (int i = 0; i < 10; ++i) {
    auto other = NewSession();
    EXPECT_EQ(Next(*other), i % 2 == 0 ? -2 : -1);
    ASSERT_EQ(other->Close(), OkStatus());
  }
  // The one whose functions the iterator calls, and the last one, which nobody has looked at since.
  EXPECT_EQ(cluster_.worker(0).num_retired_sessions(), 2u);
}

TEST_F(RetiredSessionsTest, SessionsWithFunctionsDoNotPileUp) {
  for (int i = 0; i < 50; ++i) {
    auto session = NewSession();
    ASSERT_EQ(session->Run({}, {}, {"start"}, nullptr), OkStatus());  // in place of the iterator before
    EXPECT_EQ(Next(*session), -1);
    ASSERT_EQ(session->Close(), OkStatus());
  }
  EXPECT_LE(cluster_.worker(0).num_retired_sessions(), 2u);
}

}  // namespace
}  // namespace millstream
