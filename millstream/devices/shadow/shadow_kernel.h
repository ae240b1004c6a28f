// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_SHADOW_SHADOW_KERNEL_H_
#define MILLSTREAM_DEVICES_SHADOW_SHADOW_KERNEL_H_

#include <memory>

#include "millstream/devices/shadow/shadow_device.h"
#include "millstream/framework/device_kernels.h"

namespace millstream::shadow {

// A kernel of the CPU, run by a shadow device's stream on its side of the memory.
//
// Where the shapes of the results follow from the shapes of the inputs and from what is on the host, the work is issued
// and Compute() returns, as a kernel of an accelerator does. Otherwise, and where variables are written, it waits for
// the stream.
class ShadowKernel final : public Kernel {
 public:
  struct Node {
    const OpEntry* op;
    std::string name;
    AttrMap attrs;
    std::vector<DType> output_types;
    ArgMemory memory;
    std::vector<bool> ref_inputs;  // declared as references
  };
  ShadowKernel(Node node, std::unique_ptr<Kernel> kernel);

  Status Compute(KernelContext& ctx) override;

 private:
  // False if the shapes cannot be told before the work is done.
  bool InferShapes(const KernelContext& ctx, std::vector<Shape>* shapes) const;
  Status Issue(KernelContext& ctx, const std::vector<Shape>& shapes);
  Status RunAndWait(KernelContext& ctx);
  // The rest runs on the stream's thread.
  Status RunNow(KernelContext& ctx, ShadowDevice* device);
  Status SetOutput(KernelContext& ctx, ShadowDevice* device, int i, const Tensor& value);
  static Status RunLate(ShadowDevice* device, const Node& node, Kernel* kernel, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& results, int64_t frame_iter, uint64_t tag);
  static Status RunKernel(const StepContext& step, ShadowDevice* device, const Node& node, Kernel* kernel,
                          int64_t frame_iter, uint64_t tag, std::vector<Entry>* inputs, std::vector<Entry>* outputs);

  const std::shared_ptr<const Node> node_;
  const std::shared_ptr<Kernel> kernel_;
  bool may_be_late_ = false;
  bool makes_objects_ = false;  // strings, handles or variants
};

}  // namespace millstream::shadow

#endif  // MILLSTREAM_DEVICES_SHADOW_SHADOW_KERNEL_H_
