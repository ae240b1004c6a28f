// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_GATHER_ND_H_
#define MILLSTREAM_OPS_ARRAY_GATHER_ND_H_

#include "millstream/ops/elements/nd_index.h"

namespace millstream {

// Sets output 0 to the slices of `params` that the rows of `indices` point at.
Status GatherNdSlices(KernelContext& ctx, const Tensor& params, const Tensor& indices, BadIndex policy);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_GATHER_ND_H_
