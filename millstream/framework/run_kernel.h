// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_RUN_KERNEL_H_
#define MILLSTREAM_FRAMEWORK_RUN_KERNEL_H_

#include <vector>

#include "millstream/framework/op.h"

namespace millstream {

// Makes the kernel of one op and runs it once, outside any graph: for folding constants and for tests of kernels.
// Defaults are filled into `attrs`. Inputs are values (no references). `resources` may be null for ops that use none.
StatusOr<std::vector<Tensor>> RunKernel(const OpEntry& op, AttrMap attrs, std::vector<Tensor> inputs, Device* device,
                                        ResourceManager* resources = nullptr);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_RUN_KERNEL_H_
