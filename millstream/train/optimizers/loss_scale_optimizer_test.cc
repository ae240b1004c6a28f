// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/loss_scale_optimizer.h"

#include <gmock/gmock.h>

#include <limits>

#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/global_step.h"

namespace millstream {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A variable whose gradient is fed.
class LossScaleTest : public ::testing::Test {
 protected:
  void Build(const LossScale& scale, bool counts_skipped_steps = false) {
    const VariableScope variables(scope_);
    w_ = variables.Get("w", Shape({1}), {.initializer = ZerosInitializer(), .resource = true});
    step_ = CreateGlobalStep(variables);
    gradient_ = scope_.WithOpName("gradient").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    optimizer_ = std::make_shared<LossScaleOptimizer>(std::make_shared<GradientDescentOptimizer>(1.0), scale);
    const std::vector<GradientAndVariable> gradients = {{gradient_, w_}};
    train_ = optimizer_->ApplyGradients(scope_, gradients,
                                        {.global_step = step_, .counts_skipped_steps = counts_skipped_steps});
    Node* const init = GlobalVariablesInitializer(scope_);
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    session_ = SessionOf(scope_, init);
  }
  // The scale, the number of updates and the variable after a step with this gradient.
  std::vector<double> After(float gradient) {
    RunStep(*session_, {}, {train_}, {{gradient_.name(), Tensor::Vector<float>({gradient})}});
    return {ValueOf(*session_, optimizer_->Variables()[0].value).scalar<float>(),
            static_cast<double>(ValueOf(*session_, step_.value).scalar<int64_t>()),
            ValueOf(*session_, w_.value).data<float>()[0]};
  }

  Scope scope_ = Scope::Root();
  GraphVariable w_, step_;
  Output gradient_;
  Node* train_ = nullptr;
  std::shared_ptr<LossScaleOptimizer> optimizer_;
  std::unique_ptr<Session> session_;
};

using ::testing::ElementsAre;

// As rounds of SyncReplicasOptimizer want it.
TEST_F(LossScaleTest, CountsSkippedStepsWhereAsked) {
  Build({.value = 4, .increment_period = 2, .multiplier = 2}, true);
  EXPECT_THAT(After(1), ElementsAre(4, 1, -1));
  EXPECT_THAT(After(kInfinity), ElementsAre(2, 2, -1));
  EXPECT_THAT(After(1), ElementsAre(2, 3, -2));
}

TEST_F(LossScaleTest, GrowsAndShrinks) {
  Build({.value = 4, .increment_period = 2, .multiplier = 2});
  EXPECT_THAT(After(1), ElementsAre(4, 1, -1));
  EXPECT_THAT(After(1), ElementsAre(8, 2, -2));
  EXPECT_THAT(After(kInfinity), ElementsAre(4, 2, -2));
  EXPECT_THAT(After(1), ElementsAre(4, 3, -3));
  EXPECT_THAT(After(-kInfinity), ElementsAre(2, 3, -3));
  EXPECT_THAT(After(kInfinity), ElementsAre(1, 3, -3));
  EXPECT_THAT(After(kInfinity), ElementsAre(1, 3, -3));
}

TEST_F(LossScaleTest, StaysFinite) {
  Build({.value = 0x1p127, .increment_period = 1, .multiplier = 2});
  EXPECT_THAT(After(1), ElementsAre(0x1p127, 1, -1));
}

TEST(LossScaleOptimizerTest, GradientsAreThoseOfTheLoss) {
  for (const LossScale& scale : {LossScale(), LossScale::Fixed(256)}) {
    const Scope s = Scope::Root();
    const GraphVariable w = VariableScope(s).Get("w", Shape({2}), {.initializer = OnesInitializer()});
    LossScaleOptimizer optimizer(std::make_shared<GradientDescentOptimizer>(1.0), scale);
    const auto gradients = optimizer.ComputeGradients(s, s.Op("L2Loss", {w.value}));
    Node* const init = GlobalVariablesInitializer(s);
    ASSERT_TRUE(s.ok()) << s.status();
    const auto session = SessionOf(s, init);
    EXPECT_EQ(FloatsOf(*session, gradients[0].gradient.dense)[1], 1.0F);
  }
}

TEST(LossScaleOptimizerTest, RefusesScalesThatMakeNoSense) {
  const Scope s = Scope::Root();
  const GraphVariable w = VariableScope(s).Get("w", Shape({2}));
  LossScaleOptimizer(std::make_shared<GradientDescentOptimizer>(1.0), LossScale::Fixed(0.5))
      .Minimize(s, s.Op("L2Loss", {w.value}));
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
