// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/sdca/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millstream::sdca {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Point {
  double value, slope;
};

// Where an increasing function is zero, by Newton's method, and by halves where that would leave the bracket.
// REQUIRES: the zero lies between the two ends.
template <typename F>
double ZeroOf(F function, double end, double other_end, double start) {
  constexpr int kMaxSteps = 100;
  constexpr double kPrecision = 1e-13;
  double low = std::min(end, other_end), high = std::max(end, other_end);
  double x = std::min(std::max(start, low), high);
  for (int i = 0; i < kMaxSteps; ++i) {
    const Point at = function(x);
    (at.value > 0 ? high : low) = x;
    double next = x - at.value / at.slope;
    if (!(next >= low && next <= high)) next = low + (high - low) / 2;
    const bool done = !(std::abs(next - x) > kPrecision * std::max(1.0, std::abs(x)));
    x = next;
    if (done) break;
  }
  return x;
}

// Classes are 0 and 1 outside, -1 and 1 inside.
StatusOr<double> SignOfClass(float label) {
  if (label == 0.0f) return -1.0;
  if (label == 1.0f) return 1.0;
  return errors::InvalidArgument("Only labels of 0.0 or 1.0 are supported right now. Found example with label: ",
                                 label);
}

class SquaredLoss final : public Loss {
 public:
  StatusOr<double> Label(float label) const override { return static_cast<double>(label); }
  double Primal(double label, double p) const override { return 0.5 * (p - label) * (p - label); }
  double Slope(double label, double p) const override { return p - label; }
  double Conjugate(double label, double dual) const override { return dual * (0.5 * dual - label); }
  double BestDual(const Coordinate& at) const override {
    return at.dual + (at.label - at.prediction - at.dual) / (1 + at.curvature);
  }
  double smoothness() const override { return 1; }
};

class LogisticLoss final : public Loss {
 public:
  StatusOr<double> Label(float label) const override { return SignOfClass(label); }
  double Primal(double label, double p) const override {
    const double margin = label * p;
    return std::max(0.0, -margin) + std::log1p(std::exp(-std::abs(margin)));
  }
  double Slope(double label, double p) const override { return -label * Logistic(-label * p); }
  // The entropy of a coin that shows `label` with probability label * dual.
  double Conjugate(double label, double dual) const override {
    const double q = label * dual;
    return Entropy(q) + Entropy(1 - q);
  }
  // With q = label * a = logistic(u) the derivative of the objective is -u - margin - curvature * (q - old q).
  double BestDual(const Coordinate& at) const override {
    const double margin = at.label * at.prediction, old = at.label * at.dual;
    const auto descent = [&](double u) {
      const double q = Logistic(u);
      return Point{u + margin + at.curvature * (q - old), 1 + at.curvature * q * (1 - q)};
    };
    // q lies in [0, 1], which bounds u; the slope is steepest at zero, from where the method does not overshoot.
    const double u = ZeroOf(descent, -margin - at.curvature * (1 - old), -margin + at.curvature * old, 0);
    return at.label * Logistic(u);
  }
  double smoothness() const override { return 4; }

 private:
  static double Logistic(double u) { return u >= 0 ? 1 / (1 + std::exp(-u)) : std::exp(u) / (1 + std::exp(u)); }
  static double Entropy(double q) { return q > 0 ? q * std::log(q) : 0; }
};

// max(0, 1 - margin), with its corner replaced by a parabola of width `smoothness`.
class HingeLoss final : public Loss {
 public:
  explicit HingeLoss(double smoothness) : smoothness_(smoothness) {}

  StatusOr<double> Label(float label) const override { return SignOfClass(label); }
  double Primal(double label, double p) const override {
    const double missing = 1 - label * p;
    if (missing <= 0) return 0;
    if (missing >= smoothness_) return missing - smoothness_ / 2;
    return missing * missing / (2 * smoothness_);
  }
  double Slope(double label, double p) const override {
    const double missing = 1 - label * p;
    if (missing <= 0) return 0;
    return missing >= smoothness_ ? -label : -label * missing / smoothness_;
  }
  double Conjugate(double label, double dual) const override {
    const double q = label * dual;
    if (q < 0 || q > 1) return kInfinity;
    return -q + smoothness_ / 2 * q * q;
  }
  // A parabola in q = label * a, which is confined to [0, 1].
  double BestDual(const Coordinate& at) const override {
    const double q = at.label * at.dual, bend = at.curvature + smoothness_;
    const double rise = 1 - at.label * at.prediction - smoothness_ * q;
    if (rise == 0 && bend == 0) return at.dual;
    return at.label * std::clamp(q + rise / bend, 0.0, 1.0);
  }
  double smoothness() const override { return smoothness_; }

 private:
  const double smoothness_;
};

// The negative logarithm of the probability of a count whose mean is exp(prediction), up to a constant.
class PoissonLoss final : public Loss {
 public:
  StatusOr<double> Label(float label) const override {
    if (!(label < 0)) return static_cast<double>(label);
    return errors::InvalidArgument(
        "Only non-negative labels can be used with the Poisson log loss. Found example with label: ", label);
  }
  double Primal(double label, double p) const override { return std::exp(p) - p * label; }
  double Slope(double label, double p) const override { return std::exp(p) - label; }
  double Conjugate(double label, double dual) const override {
    const double mean = label - dual;
    if (mean < 0) return kInfinity;
    return mean == 0 ? 0 : mean * (std::log(mean) - 1);
  }
  // With label - a = exp(u) the derivative of the objective is u - prediction - curvature * (old mean - exp(u)).
  double BestDual(const Coordinate& at) const override {
    const double mean = at.label - at.dual;
    const auto ascent = [&](double u) {
      const double e = std::exp(u);
      return Point{u - at.prediction + at.curvature * (e - mean), 1 + at.curvature * e};
    };
    // Zero lies between the prediction and log(mean); without the latter, where the line alone would be zero.
    const double other = mean > 0 ? std::log(mean) : at.prediction - at.curvature * (std::exp(at.prediction) - mean);
    // From the right the method does not overshoot, but goes down by 1 at most: zero is not above `right`.
    const double right = std::max(0.0, std::log(mean + at.prediction / at.curvature));
    return at.label - std::exp(ZeroOf(ascent, at.prediction, other, right));
  }
  // Not bounded in truth; used for adaptive sampling alone.
  double smoothness() const override { return 1; }
};

}  // namespace

const Loss* FindLoss(absl::string_view name) {
  static const SquaredLoss squared;
  static const LogisticLoss logistic;
  static const HingeLoss hinge(0), smooth_hinge(1);
  static const PoissonLoss poisson;
  if (name == "squared_loss") return &squared;
  if (name == "logistic_loss") return &logistic;
  if (name == "hinge_loss") return &hinge;
  if (name == "smooth_hinge_loss") return &smooth_hinge;
  if (name == "poisson_loss") return &poisson;
  return nullptr;
}

}  // namespace millstream::sdca
