// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/merge_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/placement/partition.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0/device:CPU:0";

class MergeRowsTest : public ::testing::TestWithParam<bool> {
 protected:
  MergeRowsTest() {
    const PartialShape shape({100, 4});
    table_ = GetParam()
                 ? On(kPs, s_.WithOpName("table").Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", shape}}))
                 : On(kPs, s_.WithOpName("table").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", shape}}));
  }

  Output On(const char* device, const Output& output) {
    if (output) output.node->set_assigned_device(device);
    return output;
  }
  Output Ids(const char* device) {
    const Output fed = s_.WithOpName("fed").Op("Placeholder", {}, {{"dtype", DType::kInt64}});
    return On(device, s_.WithOpName("ids").Op("Reshape", {On(device, fed), On(device, s_.Constant({-1}))}));
  }
  Output Gather(const Output& ids) {
    if (GetParam())
      return On(kPs, s_.WithOpName("rows").Op("ResourceGather", {table_, ids}, {{"dtype", DType::kFloat}}));
    return On(kPs, s_.WithOpName("rows").Op("GatherV2", {table_, ids, On(kPs, s_.Const(0))}));
  }
  // The values that travel, "node:0", between tasks.
  std::vector<std::string> Transfers(const std::vector<Output>& fetches, const std::vector<Node*>& targets = {}) {
    EXPECT_TRUE(s_.ok()) << s_.status();
    auto pruned = Prune(*s_.graph(), {}, fetches, targets);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    const Status merged = MergeRowsBetweenTasks(&*pruned);
    EXPECT_TRUE(merged.ok()) << merged;
    auto cut = PartitionByTask(*std::move(pruned));
    EXPECT_TRUE(cut.ok()) << cut.status();
    std::vector<std::string> tensors;
    for (const CutEdge& edge : cut->edges) tensors.push_back(edge.tensor);
    return tensors;
  }

  const Scope s_ = Scope::Root();
  Output table_;
};

TEST_P(MergeRowsTest, PullsEachRowOnce) {
  const Output sum = On(kWorker, s_.Op("Neg", {Gather(Ids(kWorker))}));
  EXPECT_THAT(Transfers({sum}), UnorderedElementsAre("rows/unique:0", "rows:0"));
}

TEST_P(MergeRowsTest, LeavesARowThatIsFetchedOrReadOnItsOwnTask) {
  const Output rows = Gather(Ids(kWorker));
  const Output there = On(kPs, s_.WithOpName("there").Op("Neg", {rows}));
  const Output here = On(kWorker, s_.Op("Neg", {rows}));
  EXPECT_THAT(Transfers({here, there}), UnorderedElementsAre("ids:0", "rows:0"));
  EXPECT_THAT(Transfers({here, rows}), UnorderedElementsAre("ids:0", "rows:0"));
}

TEST_P(MergeRowsTest, LeavesWhatIsOnOneTask) {
  const Output sum = On(kPs, s_.Op("Neg", {Gather(Ids(kPs))}));
  EXPECT_THAT(Transfers({sum}), IsEmpty());
}

TEST_P(MergeRowsTest, SumsRowsBeforeAScatter) {
  const Output ids = Ids(kWorker);
  const Output values =
      On(kWorker,
         s_.WithOpName("values").Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 4})}}));
  const Output negated = On(kPs, s_.Op("Neg", {values}));
  const Output scaled = On(kPs, s_.Op("Mul", {negated, On(kPs, s_.Const(0.5f))}));
  Node* scatter = s_.WithOpName("scatter").Add(GetParam() ? "ResourceScatterAdd" : "ScatterSub", {table_, ids, scaled});
  scatter->set_assigned_device(kPs);
  EXPECT_THAT(Transfers({}, {scatter}), UnorderedElementsAre("scatter/unique:0", "scatter/merged:0"));
}

TEST_P(MergeRowsTest, LeavesScattersThatAreNotLinear) {
  const Output ids = Ids(kWorker);
  const Output values =
      On(kWorker,
         s_.WithOpName("values").Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 4})}}));
  Node* squares = s_.WithOpName("scatter").Add(GetParam() ? "ResourceScatterAdd" : "ScatterAdd",
                                               {table_, ids, On(kPs, s_.Op("Square", {values}))});
  squares->set_assigned_device(kPs);
  EXPECT_THAT(Transfers({}, {squares}), UnorderedElementsAre("ids:0", "values:0"));
  // Each row has a factor of its own.
  const Output factors =
      On(kWorker,
         s_.WithOpName("factors").Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 1})}}));
  Node* weighted = s_.WithOpName("weighted")
                       .Add(GetParam() ? "ResourceScatterAdd" : "ScatterAdd",
                            {table_, ids, On(kPs, s_.Op("Mul", {values, factors}))});
  weighted->set_assigned_device(kPs);
  EXPECT_THAT(Transfers({}, {weighted}), UnorderedElementsAre("ids:0", "values:0", "factors:0"));
  // The last of equal ids counts.
  Node* update =
      s_.WithOpName("update").Add(GetParam() ? "ResourceScatterUpdate" : "ScatterUpdate", {table_, ids, values});
  update->set_assigned_device(kPs);
  EXPECT_THAT(Transfers({}, {update}), UnorderedElementsAre("ids:0", "values:0"));
}

TEST_P(MergeRowsTest, MovesTheSumsOfOptimizersToTheSender) {
  const Output ids = Ids(kWorker);
  const Output values = On(kWorker, s_.WithOpName("values").Op("Placeholder", {}, {{"dtype", DType::kFloat}}));
  Node* unique = s_.WithOpName("unique").Add("Unique", {ids});
  unique->set_assigned_device(kPs);
  const Output shape = On(kPs, s_.Op("Shape", {Output(unique, 0)}));
  const Output count =
      On(kPs,
         s_.Op("StridedSlice", {shape, On(kPs, s_.Constant({0})), On(kPs, s_.Constant({1})), On(kPs, s_.Constant({1}))},
               {{"shrink_axis_mask", 1}}));
  const Output sums = On(kPs, s_.WithOpName("sums").Op("UnsortedSegmentSum", {values, Output(unique, 1), count}));
  Node* scatter = s_.WithOpName("scatter").Add(GetParam() ? "ResourceScatterUpdate" : "ScatterUpdate",
                                               {table_, Output(unique, 0), sums});
  scatter->set_assigned_device(kPs);
  EXPECT_THAT(Transfers({}, {scatter}), UnorderedElementsAre("unique/unique:0", "sums/merged:0"));
}

TEST_P(MergeRowsTest, LeavesLoops) {
  const Output ids = Ids(kWorker);
  Node* gather = nullptr;
  const std::vector<Output> outputs = WhileLoop(
      s_,
      [](const Scope& s, const std::vector<Output>& in) {
        return s.Op("Less", {in[0], s.Const(3.f)});
      },
      [&](const Scope& s, const std::vector<Output>& in) {
        const Scope named = s.WithOpName("rows");
        const Output rows = GetParam() ? named.Op("ResourceGather", {table_, ids}, {{"dtype", DType::kFloat}})
                                       : named.Op("GatherV2", {table_, ids, s.Const(0)});
        gather = rows.node;
        return std::vector<Output>{s.Op("AddV2", {in[0], s.Op("Sum", {rows, s.Constant({0, 1})})})};
      },
      {s_.Const(0.f)});
  ASSERT_TRUE(s_.ok()) << s_.status();
  for (const auto& node : s_.graph()->nodes()) {
    const bool of_table = node.get() == gather || (node->num_inputs() > 0 && node->input(0) == table_);
    if (node->assigned_device().empty()) node->set_assigned_device(of_table ? kPs : kWorker);
  }
  EXPECT_THAT(Transfers(outputs), Not(Contains(::testing::HasSubstr("unique"))));
}

INSTANTIATE_TEST_SUITE_P(Kinds, MergeRowsTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace millstream
