// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/linalg/product.h"

namespace millstream::cuda {
namespace {

class MatMul final : public CudaKernel {
 public:
  explicit MatMul(KernelInit& init)
      : transpose_a_(init.Attr<bool>("transpose_a")), transpose_b_(init.Attr<bool>("transpose_b")) {}

  Status Issue(Call& call) override {
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    for (int i = 0; i < 2; ++i) {
      if (call.input(i).rank() == 2) continue;
      return errors::InvalidArgument("In[", i, "] is not a matrix. Instead it has shape ",
                                     call.input(i).shape().ToString());
    }
    Product p;
    p.m = a.dim(transpose_a_ ? 1 : 0);
    p.n = b.dim(transpose_b_ ? 0 : 1);
    p.k = a.dim(transpose_a_ ? 0 : 1);
    p.transpose_a = transpose_a_;
    p.transpose_b = transpose_b_;
    if (p.k != b.dim(transpose_b_ ? 1 : 0)) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                                     ", In[1]: ", b.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * c, call.Output(0, Shape({p.m, p.n})));
    return Multiply(call, p, a, b, c);
  }

 private:
  const bool transpose_a_, transpose_b_;
};

CUDA_KERNEL("MatMul").ClassFor<MatMul>(Join<FloatTypes, ComplexTypes>{});

}  // namespace
}  // namespace millstream::cuda
