// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_JOIN_TENSORS_H_
#define MILLSTREAM_OPS_RESOURCES_JOIN_TENSORS_H_

#include <vector>

#include "millstream/framework/kernel.h"

namespace millstream {

// Copies the elements of all values behind each other into `out`. REQUIRES: they are of its type and fill it.
void JoinTensors(KernelContext& ctx, const std::vector<Tensor>& values, Tensor* out);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_JOIN_TENSORS_H_
