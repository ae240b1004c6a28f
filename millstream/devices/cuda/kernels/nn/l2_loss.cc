// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/reduce.h"

namespace millstream::cuda {
namespace {

// Half the sum of squares.
class L2Loss final : public CudaKernel {
 public:
  explicit L2Loss(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& t = call.input(0);
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, Shape()));
    ReduceStep step;
    step.square = true;
    step.finish = Finish::kHalf;
    step.out = t.dtype();
    return ReduceSum(call, t.dtype(), {1, t.num_elements(), 1}, step, t.raw(), out->raw());
  }
};

CUDA_KERNEL("L2Loss").ClassFor<L2Loss>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
