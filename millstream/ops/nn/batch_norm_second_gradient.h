// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_BATCH_NORM_SECOND_GRADIENT_H_
#define MILLSTREAM_OPS_NN_BATCH_NORM_SECOND_GRADIENT_H_

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// The gradient of FusedBatchNormGrad, of all its versions: of the gradient of y, x and scale. In training, mean and
// variance are those of x and follow it; otherwise they are given, and get no gradient.
Status BatchNormSecondGradient(GradContext& g);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_BATCH_NORM_SECOND_GRADIENT_H_
