// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_DEVICE_KERNEL_H_
#define MILLSTREAM_FRAMEWORK_DEVICE_KERNEL_H_

#include "millstream/framework/kernel.h"

namespace millstream {

// A kernel of an accelerator: Compute() issues work and returns.
class DeviceKernel : public Kernel {
 public:
  // Whether the work it issues may be recorded and launched again, as long as the shapes of its inputs and what it
  // reads in host memory stay the same.
  virtual bool IsRepeatable() const { return true; }
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DEVICE_KERNEL_H_
