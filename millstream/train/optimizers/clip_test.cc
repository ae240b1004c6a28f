// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

Output Vec(const Scope& s, std::initializer_list<float> values) { return s.Const(Tensor::Vector<float>(values)); }
Grad Rows(const Scope& s, std::initializer_list<float> values) {
  return Grad::Slices(Vec(s, values), s.Constant({0, 4}), s.Constant({6}));
}

TEST(ClipTest, ByValue) {
  Scope s = Scope::Root();
  const Grad dense = ClipByValue(s, Vec(s, {-3, 0.5, 2}), -1, s.Const(1.5f));
  const Grad sparse = ClipByValue(s, Rows(s, {-3, 9}), -1, 1);
  EXPECT_TRUE(ClipByValue(s, Grad(), -1, 1).IsNone());
  EXPECT_EQ(dense.dense.node->name(), "clip_by_value");
  ASSERT_TRUE(sparse.IsSparse()) << s.status();
  const auto session = SessionOf(s);
  EXPECT_THAT(FloatsOf(*session, dense.dense), ElementsAre(-1, 0.5, 1.5));
  EXPECT_THAT(FloatsOf(*session, sparse.values), ElementsAre(-1, 1));
  EXPECT_THAT(ValueOf(*session, sparse.indices).flat<int32_t>(), ElementsAre(0, 4));
}

TEST(ClipTest, ByNorm) {
  Scope s = Scope::Root();
  const Output large = ClipByNorm(s, Vec(s, {3, 4}), 1).dense, small = ClipByNorm(s, Vec(s, {3, 4}), 10).dense;
  const Output zero = ClipByNorm(s, Vec(s, {0, 0}), 1).dense;
  const auto session = SessionOf(s);
  EXPECT_THAT(FloatsOf(*session, large), ElementsAre(FloatEq(0.6f), FloatEq(0.8f)));
  EXPECT_THAT(FloatsOf(*session, small), ElementsAre(FloatEq(3), FloatEq(4)));
  EXPECT_THAT(FloatsOf(*session, zero), ElementsAre(0, 0));
}

TEST(ClipTest, ByGlobalNorm) {
  Scope s = Scope::Root();
  const std::vector<Grad> gradients = {Vec(s, {3, 0}), Grad(), Rows(s, {0, 4})};
  Output norm;
  const std::vector<Grad> clipped = ClipByGlobalNorm(s, gradients, 2.5, {}, &norm);
  const std::vector<Grad> left = ClipByGlobalNorm(s, gradients, 100, norm);
  ASSERT_EQ(clipped.size(), 3u) << s.status();
  EXPECT_TRUE(clipped[1].IsNone());
  const auto session = SessionOf(s);
  EXPECT_EQ(ValueOf(*session, norm).scalar<float>(), 5);
  EXPECT_THAT(FloatsOf(*session, clipped[0].dense), ElementsAre(FloatEq(1.5f), 0));
  EXPECT_THAT(FloatsOf(*session, clipped[2].values), ElementsAre(0, FloatEq(2)));
  EXPECT_THAT(FloatsOf(*session, left[2].values), ElementsAre(0, FloatEq(4)));
}

TEST(ClipTest, ANormThatIsNotFiniteShows) {
  Scope s = Scope::Root();
  const std::vector<Grad> clipped = ClipByGlobalNorm(s, {Vec(s, {1, std::numeric_limits<float>::infinity()})}, 1);
  ASSERT_EQ(clipped.size(), 1u) << s.status();
  EXPECT_TRUE(std::isnan(FloatsOf(*SessionOf(s), clipped[0].dense)[0]));
  Scope none = Scope::Root();
  ClipByGlobalNorm(none, {Grad()}, 1);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ClipTest, BetweenComputeAndApply) {
  Scope s = Scope::Root();
  const GraphVariable w =
      VariableScope(s).Get("w", Shape({2}), {.initializer = ValueInitializer(Tensor::Vector<float>({3, 4}))});
  GradientDescentOptimizer optimizer(1.0);
  const Output loss = s.Op("L2Loss", {w.value});  // whose gradient is w
  Node* train = optimizer.ApplyGradients(s, ClipByGlobalNorm(s, optimizer.ComputeGradients(s, loss), 2.5));
  const auto session = SessionOf(s, GlobalVariablesInitializer(s));
  RunStep(*session, {}, {train});
  EXPECT_THAT(FloatsOf(*session, w.value), ElementsAre(FloatEq(1.5f), FloatEq(2)));
}

}  // namespace
}  // namespace millstream
