// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_FUSED_OPS_H_
#define MILLSTREAM_OPS_MATH_FUSED_OPS_H_

#include "millstream/framework/kernel.h"
#include "millstream/math/gemm/gemm.h"

namespace millstream {

// What follows a fused product after its bias, from the attributes fused_ops and num_args: nothing, Relu or Relu6.
// Unimplemented (reported to `init`) for anything but BiasAdd first.
math::Activation FusedActivation(KernelInit& init);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_FUSED_OPS_H_
