// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_GATHER_GRAD_H_
#define MILLSTREAM_OPS_ARRAY_GATHER_GRAD_H_

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// Gradients of Gather and GatherV2: sparse where rows are gathered, a sum over segments along other axes.
Status GatherGrad(GradContext& g);
Status GatherV2Grad(GradContext& g);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_GATHER_GRAD_H_
