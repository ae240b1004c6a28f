// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_LINALG_GRADIENTS_H_
#define MILLSTREAM_OPS_LINALG_GRADIENTS_H_

#include "millstream/ops/gradients/gradients.h"

namespace millstream {

// What gradients of matrix functions are written in; all on the last two dimensions.
class LinalgGrad : public GradMath {
 public:
  explicit LinalgGrad(GradContext& g) : GradMath(g), g_(g) {}

  Output Product(Output a, Output b, bool adjoint_a, bool adjoint_b) const {
    return g_.Op("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
  }
  Output Adjoint(Output a) const;
  Output LowerPart(Output a) const { return Band(a, -1, 0); }
  Output UpperPart(Output a) const { return Band(a, 0, -1); }
  // Identity matrices of the shape of `like`.
  Output IdentityLike(Output like) const;
  // Two more dimensions of size one at the end.
  Output AsMatrices(Output a) const;
  // Sets the gradient of a Hermitian eigenvalue problem with values e and vectors v; dv may be empty.
  Status EigGrad(Output e, Output v, Output de, Output dv) const;

 private:
  Output Band(Output a, int64_t lower, int64_t upper) const;
  GradContext& g_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_LINALG_GRADIENTS_H_
