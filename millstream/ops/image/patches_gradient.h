// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_IMAGE_PATCHES_GRADIENT_H_
#define MILLSTREAM_OPS_IMAGE_PATCHES_GRADIENT_H_

#include "absl/functional/function_ref.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// The gradient of an op that takes windows of its input [batch, places in `dims` dimensions, depth]: numbers the
// places, takes the windows of the numbers by `take`, and sums gradients by number.
Status PatchesGradient(GradContext& g, int dims, absl::FunctionRef<Output(Output)> take);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_IMAGE_PATCHES_GRADIENT_H_
