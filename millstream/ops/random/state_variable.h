// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_STATE_VARIABLE_H_
#define MILLSTREAM_OPS_RANDOM_STATE_VARIABLE_H_

#include "millstream/framework/kernel.h"
#include "millstream/math/random/philox.h"

// Generators whose state is the value of a variable: int64 numbers, two of the counter and one of the key.
namespace millstream {

// InvalidArgument unless `alg`, called `what`, is a scalar that names an algorithm; Unimplemented if it is not one of
// ours.
Status CheckAlgorithm(const Tensor& alg, absl::string_view what);

// The generator behind the handle of input 0, which is left `blocks` blocks further on. The state begins after `skip`
// numbers, the first of which is then the algorithm. *before, if asked for, is the state as it was.
StatusOr<math::Philox> SkipInState(const KernelContext& ctx, uint64_t blocks, int64_t skip, Tensor* before);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_STATE_VARIABLE_H_
