// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_DEVICE_KERNELS_H_
#define MILLSTREAM_FRAMEWORK_DEVICE_KERNELS_H_

#include <vector>

#include "millstream/framework/op.h"

namespace millstream {

// Adds a kernel for another device than the CPU to an op that is declared elsewhere. FailedPrecondition if the op
// already has one with the same constraints for that type of device.
Status AddDeviceKernel(OpEntry* op, KernelDef kernel);

// Adds kernels for `device_type` to the ops that never touch the elements of their tensors (OpTrait::kAnyDevice):
// control flow, identities, variables' handles and reads, calls of functions, transfers, constants, copies. They are
// the CPU's kernels; what must be in host memory (predicates, arguments of functions, what is sent) is declared so.
void AddNeutralKernels(const std::string& device_type);

// Which single inputs and outputs of a node are in host memory. Strings, handles and variants always are.
struct ArgMemory {
  std::vector<bool> host_inputs, host_outputs;
};
StatusOr<ArgMemory> MemoryOfArgs(const OpDef& op, const KernelDef& kernel, const AttrMap& attrs);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DEVICE_KERNELS_H_
