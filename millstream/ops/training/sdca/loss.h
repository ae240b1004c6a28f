// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TRAINING_SDCA_LOSS_H_
#define MILLSTREAM_OPS_TRAINING_SDCA_LOSS_H_

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream::sdca {

// What one step of coordinate ascent knows: with all other dual variables fixed, the dual objective is, as a function
// of this one's value a and up to a constant,
//   -conjugate(-a) - prediction * (a - dual) - curvature / 2 * (a - dual)^2.
struct Coordinate {
  double label;       // as given by Loss::Label()
  double prediction;  // of the model that the dual variables of all examples make
  double dual;        // the value before the step
  double curvature;   // partitions * weight of the example * its squared norm / l2
};

// A convex loss of a linear model's prediction, and its convex conjugate: Shalev-Shwartz and Zhang, "Stochastic Dual
// Coordinate Ascent Methods for Regularized Loss Minimization" (2013). Losses are of an example with weight 1.
// Stateless.
class Loss {
 public:
  virtual ~Loss() = default;

  // The label that the other functions take. InvalidArgument if the loss is not made for it.
  virtual StatusOr<double> Label(float label) const = 0;
  virtual double Primal(double label, double prediction) const = 0;
  // Its derivative (a subgradient where it has none).
  virtual double Slope(double label, double prediction) const = 0;
  // The conjugate at -dual; infinity outside of its domain (of the logistic loss: some number, as in TensorFlow).
  virtual double Conjugate(double label, double dual) const = 0;
  // The value of the dual variable that maximises the objective above.
  virtual double BestDual(const Coordinate& at) const = 0;
  // The slope changes at most by 1 / smoothness per unit; 0 if it jumps.
  virtual double smoothness() const = 0;
};

// The loss of that name (attribute loss_type); null if there is none. Never goes away.
const Loss* FindLoss(absl::string_view name);

}  // namespace millstream::sdca

#endif  // MILLSTREAM_OPS_TRAINING_SDCA_LOSS_H_
