// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/ops/state/testing/op_runner.h"

namespace millstream::sdca {
namespace {

constexpr int64_t kRows = 6, kColumns = 2;
const std::vector<float> kFeatures = {1, 0.5, -1, 2, 0.25, -1, 2, 1, -0.5, -0.75, 1, -2};
const std::vector<float> kWeights = {1, 2, 0.5, 1, 1, 3};

Tensor Vector(const std::vector<float>& values) { return Tensor::Vector<float>(values); }

// A model with two dense features, trained with all examples at once.
class Trainer {
 public:
  Trainer(OpRunner::Env& env, const std::string& loss, bool adaptive, float l1, float l2)
      : l2_(l2),
        step_(env, "SdcaOptimizerV2",
              {{"loss_type", AttrValue(loss)},
               {"adaptive", AttrValue(adaptive)},
               {"num_sparse_features", AttrValue(int64_t{0})},
               {"num_sparse_features_with_values", AttrValue(int64_t{0})},
               {"num_dense_features", AttrValue(int64_t{1})},
               {"l1", AttrValue(l1)},
               {"l2", AttrValue(l2)},
               {"num_loss_partitions", AttrValue(int64_t{1})},
               {"num_inner_iterations", AttrValue(int64_t{1})}}) {}

  void Train(const std::vector<float>& labels, int steps) {
    for (int i = 0; i < steps; ++i) {
      auto out = step_.Run({Vector(kFeatures).Reshaped(Shape({kRows, kColumns})), Vector(kWeights), Vector(labels),
                            Vector(model_), state_});
      ASSERT_TRUE(out.ok()) << out.status();
      state_ = (*out)[0].tensor;
      for (size_t k = 0; k < model_.size(); ++k) model_[k] += (*out)[1].tensor.data<float>()[k];
    }
  }
  // Primal minus dual objective, which is zero at the optimum alone (without l1).
  double DualityGap() const {
    double sum = 0;
    for (int64_t i = 0; i < kRows; ++i) sum += state_.data<float>()[4 * i + 1] + state_.data<float>()[4 * i + 2];
    for (const float w : model_) sum += l2_ * w * w;
    return sum;
  }
  const std::vector<float>& model() const { return model_; }

 private:
  const float l2_;
  OpRunner step_;
  std::vector<float> model_ = std::vector<float>(kColumns);
  Tensor state_ = Vector(std::vector<float>(kRows * 4)).Reshaped(Shape({kRows, 4}));
};

TEST(SdcaOptimizerTest, EveryLossComesToItsOptimum) {
  OpRunner::Env env(2);
  const std::vector<std::pair<std::string, std::vector<float>>> losses = {{"squared_loss", {1, -2, 0.5, 3, -1, 0}},
                                                                          {"logistic_loss", {1, 0, 1, 1, 0, 0}},
                                                                          {"hinge_loss", {1, 0, 1, 1, 0, 0}},
                                                                          {"smooth_hinge_loss", {1, 0, 1, 1, 0, 0}},
                                                                          {"poisson_loss", {3, 0, 1, 5, 0, 1}}};
  for (const auto& [loss, labels] : losses) {
    for (const bool adaptive : {false, true}) {
      Trainer trainer(env, loss, adaptive, 0, 2);
      trainer.Train(labels, 5);
      const double early = trainer.DualityGap();
      trainer.Train(labels, 400);
      EXPECT_NEAR(trainer.DualityGap(), 0, 1e-3) << loss << " adaptive " << adaptive << ", after 5 steps " << early;
    }
  }
}

// The variables hold weights before they shrink by l1 / l2.
TEST(SdcaOptimizerTest, StrongL1KeepsWeightsAtZero) {
  OpRunner::Env env(1);
  Trainer trainer(env, "squared_loss", false, /*l1=*/1000, 2);
  trainer.Train({1, -2, 0.5, 3, -1, 0}, 50);
  for (const float w : trainer.model()) {
    EXPECT_NE(w, 0);
    EXPECT_LE(std::abs(w), 1000 / 2.0f);
  }
}

TEST(SdcaOptimizerTest, ARepeatedTrainingRepeatsItsNumbers) {
  OpRunner::Env env(1);
  for (const bool adaptive : {false, true}) {
    Trainer a(env, "logistic_loss", adaptive, 0.1f, 1), b(env, "logistic_loss", adaptive, 0.1f, 1);
    a.Train({1, 0, 1, 1, 0, 0}, 4);
    b.Train({1, 0, 1, 1, 0, 0}, 4);
    EXPECT_EQ(a.model(), b.model());
  }
}

}  // namespace
}  // namespace millstream::sdca
