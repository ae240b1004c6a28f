// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/sdca/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace millstream::sdca {
namespace {

struct LossCase {
  const char* name;
  std::vector<float> labels;
};
const LossCase kLosses[] = {{"squared_loss", {-2, 0, 3}},
                            {"logistic_loss", {0, 1}},
                            {"hinge_loss", {0, 1}},
                            {"smooth_hinge_loss", {0, 1}},
                            {"poisson_loss", {0, 1, 40}}};

double Objective(const Loss& loss, const Coordinate& at, double dual) {
  const double d = dual - at.dual;
  return -loss.Conjugate(at.label, dual) - at.prediction * d - at.curvature / 2 * d * d;
}

// A dual value that is allowed for the label: -slope of some prediction.
double FeasibleDual(const Loss& loss, double label) { return -loss.Slope(label, 0.25); }

TEST(SdcaLossTest, BestDualMaximisesTheObjective) {
  for (const LossCase& c : kLosses) {
    const Loss& loss = *FindLoss(c.name);
    for (const float raw : c.labels) {
      const double label = *loss.Label(raw);
      for (const double prediction : {-30.0, -2.0, 0.0, 0.7, 5.0, 100.0}) {
        for (const double curvature : {0.01, 1.0, 300.0, 1e6}) {
          const Coordinate at = {label, prediction, FeasibleDual(loss, label), curvature};
          const double best = loss.BestDual(at), value = Objective(loss, at, best);
          ASSERT_TRUE(std::isfinite(best)) << c.name << " " << label << " " << prediction << " " << curvature;
          const double slack = 1e-9 * std::max(1.0, std::abs(value));
          for (const double step : {-1.0, -1e-2, -1e-4, 1e-4, 1e-2, 1.0}) {
            const double other = best + step * std::max(1.0, std::abs(best));
            if (c.name == std::string("logistic_loss") && (label * other < 0 || label * other > 1)) continue;
            EXPECT_GE(value + slack, Objective(loss, at, other))
                << c.name << " label " << label << " prediction " << prediction << " curvature " << curvature;
          }
        }
      }
    }
  }
}

TEST(SdcaLossTest, ConjugateMeetsTheLossAtItsSlope) {
  for (const LossCase& c : kLosses) {
    const Loss& loss = *FindLoss(c.name);
    for (const float raw : c.labels) {
      const double label = *loss.Label(raw);
      for (const double p : {-3.0, -0.4, 0.2, 2.5}) {
        const double slope = loss.Slope(label, p);
        // Fenchel and Young: loss(p) + conjugate(slope) = p * slope.
        EXPECT_NEAR(loss.Primal(label, p) + loss.Conjugate(label, -slope), p * slope, 1e-9) << c.name << " at " << p;
      }
    }
  }
}

TEST(SdcaLossTest, StepsEndWhateverTheNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const LossCase& c : kLosses) {
    const Loss& loss = *FindLoss(c.name);
    for (const double a : {nan, inf, -inf, 0.0, 1e308, -1e308}) {
      for (const double b : {nan, inf, -inf, 0.0, -3.0}) {
        loss.BestDual({*loss.Label(1), a, 0, b});
        loss.BestDual({*loss.Label(1), a, b, 1});
      }
    }
  }
}

TEST(SdcaLossTest, HingeWithoutCurvatureStaysOrGoesToTheBound) {
  const Loss& loss = *FindLoss("hinge_loss");
  EXPECT_EQ(loss.BestDual({1, 1, 0.25, 0}), 0.25);
  EXPECT_EQ(loss.BestDual({1, 0.5, 0.25, 0}), 1);
  EXPECT_EQ(loss.BestDual({-1, -2, -0.25, 0}), 0);
}

TEST(SdcaLossTest, UnknownNameIsNull) { EXPECT_EQ(FindLoss("cubic_loss"), nullptr); }

}  // namespace
}  // namespace millstream::sdca
