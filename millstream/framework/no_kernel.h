// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_NO_KERNEL_H_
#define MILLSTREAM_FRAMEWORK_NO_KERNEL_H_

#include "millstream/framework/kernel.h"
#include "millstream/framework/op_def.h"

namespace millstream {

// What a kernel's constructor fails with if TensorFlow has no kernel for such attributes; `why` names them. For what
// the types of an op's registration cannot say.
template <typename... Why>
Status NoKernel(const KernelInit& init, const Why&... why) {
  return errors::InvalidArgument("No OpKernel was registered to support Op '", init.op().name, "' used by {{node ",
                                 init.node_name(), "}}: ", why...);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_NO_KERNEL_H_
