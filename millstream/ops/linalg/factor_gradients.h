// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_LINALG_FACTOR_GRADIENTS_H_
#define MILLSTREAM_OPS_LINALG_FACTOR_GRADIENTS_H_

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// Gradients of factorizations and of least squares, where TensorFlow has them: singular vectors and orthonormal factors
// that complete a basis have none (Unimplemented).
Status SvdGradient(GradContext& g);
Status QrGradient(GradContext& g);
Status GeneralEigGradient(GradContext& g);
Status LeastSquaresGradient(GradContext& g);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_LINALG_FACTOR_GRADIENTS_H_
