// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/variables/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

TEST(VariablesTest, AreFoundByTheirHandles) {
  Scope s = Scope::Root();
  const VariableScope variables(s);
  for (const bool resource : {false, true}) {
    const GraphVariable made = variables.Get(resource ? "r" : "w", Shape({2, 3}), {.resource = resource});
    const GraphVariable found = FindVariable(s, made.handle);
    EXPECT_EQ(found.handle, made.handle);
    EXPECT_EQ(found.value, made.value);
    EXPECT_EQ(found.initializer, made.initializer);
    EXPECT_EQ(found.shape, PartialShape({2, 3}));
    EXPECT_EQ(IsResource(found), resource);
    EXPECT_EQ(TypeOf(found), DType::kFloat);
  }
  // A user's own node has no companions.
  const Output bare = s.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({2})}});
  EXPECT_EQ(FindVariable(s, bare).value, bare);
  EXPECT_EQ(FindVariable(s, bare).initializer, nullptr);
  EXPECT_FALSE(FindVariable(s, Output()));
  EXPECT_EQ(VariablesIn(s, "variables").size(), 2u);
  EXPECT_EQ(VariablesInitializer(s, {bare}), nullptr);
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(VariablesTest, ReportWhoHasNoValue) {
  Scope s = Scope::Root();
  const VariableScope variables(s);
  const GraphVariable w = variables.Get("w", Shape({2}));
  variables.Get("r", Shape({2}), {.resource = true});
  variables.Get("own", Shape({2}), {.trainable = false, .collections = {"local_variables"}});
  const Output report = ReportUninitializedVariables(s, s.Collection("variables"));
  const Output nothing = ReportUninitializedVariables(s, {});
  Node* init = GlobalVariablesInitializer(s);
  EXPECT_EQ(init->name(), "init");
  EXPECT_EQ(s.Collection("local_variables").size(), 1u);
  const auto session = SessionOf(s);
  EXPECT_THAT(ValueOf(*session, report).flat<std::string>(), ElementsAre("w", "r"));
  EXPECT_EQ(ValueOf(*session, nothing).num_elements(), 0);
  RunStep(*session, {}, {w.initializer});
  EXPECT_THAT(ValueOf(*session, report).flat<std::string>(), ElementsAre("r"));
  RunStep(*session, {}, {init});
  EXPECT_EQ(ValueOf(*session, report).num_elements(), 0);
}

TEST(VariablesTest, Change) {
  for (const bool resource : {false, true}) {
    Scope s = Scope::Root();
    const GraphVariable v =
        VariableScope(s).Get("v", Shape(), {.initializer = ConstantInitializer(1), .resource = resource});
    const Output five = s.Const(5.0f);
    const Output added = AddToVariable(s, v, five), subtracted = SubtractFromVariable(s, v, s.Const(2.0f));
    const Output assigned = AssignVariable(s, v, five), read = ReadVariable(s.WithControlDependencies({added.node}), v);
    const auto session = SessionOf(s, v.initializer);
    EXPECT_EQ(ValueOf(*session, added).scalar<float>(), 6);
    EXPECT_EQ(ValueOf(*session, subtracted).scalar<float>(), 4);
    EXPECT_EQ(ValueOf(*session, assigned).scalar<float>(), 5);
    EXPECT_EQ(ValueOf(*session, read).scalar<float>(), 10);
  }
}

TEST(VariablesTest, GroupHasAHelperOnEachDevice) {
  Scope s = Scope::Root();
  Node* a = s.WithDevice("/job:ps/task:0").Add("NoOp", {});
  Node* b = s.WithDevice("/job:ps/task:1").Add("NoOp", {});
  Node* both = Group(s, {a, b, nullptr}, "both");
  EXPECT_EQ(both->name(), "both");
  EXPECT_EQ(both->control_inputs().size(), 2u);
  EXPECT_EQ(both->control_inputs()[1]->name(), "both/NoOp_1");
  EXPECT_EQ(both->control_inputs()[1]->device(), "/job:ps/task:1");
  Node* one = Group(s, {a});
  EXPECT_THAT(one->control_inputs(), ElementsAre(a));
  EXPECT_EQ(one->device(), "/job:ps/task:0");
  EXPECT_TRUE(Group(s, {})->control_inputs().empty());
}

}  // namespace
}  // namespace millstream
