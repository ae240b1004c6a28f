// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "millstream/graph/passes/passes.h"
#include "millstream/graph/reserved_attrs.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class UpdateAfterReductionsTest : public ::testing::Test {
 protected:
  Output Variable() {
    return scope_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  }
  Output Mean(Output value, int64_t group = 1) {
    return scope_.Op("CollectiveReduce", {value},
                     {{"group_size", int64_t{2}},
                      {"group_key", group},
                      {"instance_key", next_instance_++},
                      {"merge_op", "Add"},
                      {"final_op", "Div"},
                      {"subdiv_offsets", std::vector<int64_t>{0}}});
  }
  Output Update(Output gradient) {
    return scope_.Op("ApplyGradientDescent", {Variable(), scope_.Const(0.1f), gradient});
  }

  // The graph that these need, after the pass.
  void Run(const std::vector<Output>& fetches) {
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    StatusOr<PrunedGraph> part = Prune(*scope_.graph(), {}, fetches, {});
    ASSERT_TRUE(part.ok()) << part.status();
    part_ = *std::move(part);
    const Status status = UpdateAfterReductions(&part_);
    ASSERT_TRUE(status.ok()) << status;
  }
  // With how many reductions, itself included, one is waited for; 0: not with others.
  int64_t Together(const Output& reduction) {
    std::vector<int64_t> together;
    return part_.graph->Find(reduction.node->name())->GetAttr(kReductionsTogetherAttr, &together).ok() ? together[0]
                                                                                                       : 0;
  }
  int64_t GateOf(const Output& reduction) {
    std::vector<int64_t> together;
    return part_.graph->Find(reduction.node->name())->GetAttr(kReductionsTogetherAttr, &together).ok() ? together[1]
                                                                                                       : -1;
  }
  // What the gate of an update waits for.
  std::vector<std::string> WaitsFor(const Output& update) {
    std::vector<std::string> names;
    for (const Node* gate : part_.graph->Find(update.node->name())->control_inputs()) {
      if (!gate->attrs().Has(kCommitsStepAttr)) continue;
      for (const Node* reduction : gate->control_inputs()) names.push_back(reduction->name());
    }
    return names;
  }

  Scope scope_ = Scope::Root();
  PrunedGraph part_;

 private:
  int64_t next_instance_ = 1;
};

TEST_F(UpdateAfterReductionsTest, UpdatesWaitForAllReductions) {
  const Output a = Mean(scope_.Const(1.0f)), b = Mean(scope_.Const(2.0f));
  const Output update_a = Update(a), update_b = Update(b);
  Run({update_a, update_b});
  EXPECT_THAT(WaitsFor(update_a), UnorderedElementsAre(a.node->name(), b.node->name()));
  EXPECT_THAT(WaitsFor(update_b), UnorderedElementsAre(a.node->name(), b.node->name()));
  EXPECT_EQ(Together(a), 2);
  EXPECT_EQ(Together(b), 2);
}

TEST_F(UpdateAfterReductionsTest, GroupsAreCountedApart) {
  const Output a = Mean(scope_.Const(1.0f), 1), b = Mean(scope_.Const(2.0f), 2), c = Mean(scope_.Const(3.0f), 2);
  Run({Update(a), Update(b), Update(c)});
  EXPECT_EQ(Together(a), 1);
  EXPECT_EQ(Together(b), 2);
  EXPECT_EQ(Together(c), 2);
}

TEST_F(UpdateAfterReductionsTest, OneThatAnotherOneReadsDoesNotWaitForIt) {
  const Output norm = Mean(scope_.Const(3.0f));
  const Output a = Mean(scope_.Op("Mul", {scope_.Const(1.0f), norm})), b = Mean(scope_.Const(2.0f));
  const Output update = Update(b);
  Run({Update(a), update});
  EXPECT_THAT(WaitsFor(update), UnorderedElementsAre(norm.node->name(), a.node->name(), b.node->name()));
  EXPECT_EQ(Together(norm), 0);
  EXPECT_EQ(Together(a), 2);
  EXPECT_EQ(Together(b), 2);
}

TEST_F(UpdateAfterReductionsTest, WhatFollowsUpdatesIsOnItsOwn) {
  const Output gradient = Mean(scope_.Const(1.0f)), update = Update(gradient);
  const Output loss = Mean(scope_.Op("Square", {update}));
  Run({loss});
  EXPECT_THAT(WaitsFor(update), ElementsAre(gradient.node->name()));
  EXPECT_EQ(Together(gradient), 1) << "the loss comes after the update";
  EXPECT_EQ(Together(loss), 0) << "nothing is updated by it";

  Run({Update(loss)});
  EXPECT_EQ(Together(loss), 1);
  EXPECT_NE(GateOf(loss), GateOf(gradient));
}

TEST_F(UpdateAfterReductionsTest, ReductionsWithoutUpdatesStayAlone) {
  const Output mean = Mean(scope_.Const(1.0f));
  Run({mean});
  EXPECT_EQ(Together(mean), 0);
  EXPECT_THAT(WaitsFor(mean), IsEmpty());
}

}  // namespace
}  // namespace millstream
