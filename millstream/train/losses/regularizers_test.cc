// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/regularizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/losses/losses.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

VariableOptions Beginning(const Tensor& value) {
  VariableOptions options;
  options.initializer = ValueInitializer(value);
  return options;
}

TEST(RegularizersTest, CostsAreAddedOnce) {
  const Scope s = Scope::Root();
  const VariableScope root(s);
  const VariableScope v = root.Enter("a").WithRegularizer(L2Regularizer(0.5));
  const VariableOptions w = Beginning(Tensor::Vector<float>({3, -4}));
  v.Get("w", Shape({2}), w);
  VariableOptions own = w;
  own.regularizer = L1Regularizer(2);
  v.Get("own", Shape({2}), own);
  own.regularizer = NoRegularizer;
  v.Get("none", Shape({2}), own);
  own.regularizer = L1L2Regularizer(1, 0);
  v.Enter("b").Get("one", Shape({2}), own);
  root.Enter("a", VariableScope::Reuse::kYes).WithRegularizer(L2Regularizer(0.5)).Get("w", Shape({2}), w);
  ASSERT_TRUE(s.ok()) << s.status();
  const std::vector<Output> losses = losses::GetRegularizationLosses(s);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[0].node->name(), "a/w/Regularizer/l2_regularizer");
  EXPECT_EQ(losses[1].node->name(), "a/own/Regularizer/l1_regularizer");
  const Output total = losses::GetRegularizationLoss(s);
  const Output inner = losses::GetRegularizationLoss(s, "a/b", "inner");
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  EXPECT_THAT(FloatsOf(*session, losses[0]), ElementsAre(6.25f));  // 0.5 * (9 + 16) / 2
  EXPECT_THAT(FloatsOf(*session, losses[1]), ElementsAre(14));
  EXPECT_THAT(FloatsOf(*session, inner), ElementsAre(7));
  EXPECT_THAT(FloatsOf(*session, total), ElementsAre(27.25f));
}

TEST(RegularizersTest, NegativeScalesAreRefused) {
  const Scope s = Scope::Root();
  VariableScope(s).WithRegularizer(L2Regularizer(-1)).Get("w", Shape({2}));
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
}

// Updates end within what is allowed, for references and resources.
TEST(ConstraintsTest, EndUpdates) {
  for (const bool resource : {false, true}) {
    SCOPED_TRACE(resource);
    const Scope s = Scope::Root();
    const VariableScope root(s);
    VariableOptions options = Beginning(Tensor::Vector<float>({1, 5}));
    options.resource = resource;
    options.constraint = NonNegConstraint();
    const GraphVariable w = root.Get("w", Shape({2}), options);
    options.initializer = ValueInitializer(Tensor::Vector<float>({6, 8}));
    options.constraint = MaxNormConstraint(2);
    const GraphVariable n = root.Get("n", Shape({2}), options);
    options.constraint = nullptr;
    const GraphVariable free = root.Get("free", Shape({2}), options);
    const Output loss = s.Op("AddN", {s.Op("Sum", {w.value, s.Constant({0})}), s.Op("Sum", {n.value, s.Constant({0})}),
                                      s.Op("Sum", {free.value, s.Constant({0})})});
    Node* train = GradientDescentOptimizer(2).Minimize(s, loss);
    Node* init = GlobalVariablesInitializer(s);
    const auto session = SessionOf(s, init);
    RunStep(*session, {}, {train});
    EXPECT_THAT(FloatsOf(*session, w.value), ElementsAre(0, 3));
    // 4 and 6 have the norm of the root of 52
    EXPECT_THAT(FloatsOf(*session, n.value), ElementsAre(FloatNear(1.1094f, 1e-4f), FloatNear(1.6641f, 1e-4f)));
    EXPECT_THAT(FloatsOf(*session, free.value), ElementsAre(4, 6));
  }
}

TEST(ConstraintsTest, SparseUpdatesHaveNone) {
  const Scope s = Scope::Root();
  VariableOptions options = Beginning(Tensor::Of<float>(Shape({2, 1}), {1, 5}));
  options.constraint = UnitNormConstraint();
  const GraphVariable w = VariableScope(s).Get("w", Shape({2, 1}), options);
  const Output row = s.Op("GatherV2", {w.value, s.Constant({1}), s.Const<int32_t>(0)});
  GradientDescentOptimizer(1).Minimize(s, s.Op("Sum", {row, s.Constant({0, 1})}));
  EXPECT_EQ(s.status().code(), absl::StatusCode::kFailedPrecondition) << s.status();
}

}  // namespace
}  // namespace millstream
