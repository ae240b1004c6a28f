// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/nn/conv_plan.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/math/fused_ops.h"

namespace millstream::cuda {
namespace {

class Conv2D final : public CudaKernel {
 public:
  explicit Conv2D(KernelInit& init) : attrs_(ReadConvAttrs(init)) {}

  Status Issue(Call& call) override {
    const Tensor& x = call.input(0);
    const Tensor& w = call.input(1);
    ASSIGN_OR_RETURN(ConvPlan plan, ConvPlan::Make(attrs_, x.dtype(), x.shape(), w.shape()));
    ASSIGN_OR_RETURN(Tensor * y, call.Output(0, plan.output_shape()));
    if (y->num_elements() == 0) return OkStatus();
    if (x.num_elements() == 0) return Zero(call, y);
    return plan.Forward(call, x, w, {}, y);
  }

 private:
  const WindowAttrs attrs_;
};

// Conv2D with what follows it: BiasAdd, and then Relu or Relu6.
class FusedConv2D final : public CudaKernel {
 public:
  explicit FusedConv2D(KernelInit& init) : attrs_(ReadConvAttrs(init)), activation_(FusedActivation(init)) {}

  Status Issue(Call& call) override {
    const Tensor& x = call.input(0);
    const Tensor& w = call.input(1);
    const Tensor& bias = call.input(2);
    ASSIGN_OR_RETURN(ConvPlan plan, ConvPlan::Make(attrs_, x.dtype(), x.shape(), w.shape()));
    if (bias.rank() != 1 || bias.dim(0) != w.dim(3)) {
      return errors::InvalidArgument("bias must have one value for each of ", w.dim(3), " channels, got shape ",
                                     bias.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * y, call.Output(0, plan.output_shape()));
    if (y->num_elements() == 0) return OkStatus();
    if (x.num_elements() == 0) {
      return errors::InvalidArgument("Fused convolution of empty images: ", x.shape().ToString());
    }
    return plan.Forward(call, x, w, {&bias, activation_}, y);
  }

 private:
  const WindowAttrs attrs_;
  const math::Activation activation_;
};

class Conv2DBackpropInput final : public CudaKernel {
 public:
  explicit Conv2DBackpropInput(KernelInit& init) : attrs_(ReadConvAttrs(init)) {}

  Status Issue(Call& call) override {
    const Tensor& w = call.input(1);
    const Tensor& dy = call.input(2);
    Dims sizes;
    RETURN_IF_ERROR(ReadInts(call.input(0), &sizes));
    if (w.rank() != 4 || dy.rank() != 4) {
      return errors::InvalidArgument("filter and out_backprop must be 4-dimensional: ", w.shape().ToString(), ", ",
                                     dy.shape().ToString());
    }
    if (sizes.size() == 2) {
      const Dims given = sizes;
      sizes = {dy.dim(0), 0, 0, 0};
      sizes[attrs_.height_axis()] = given[0];
      sizes[attrs_.width_axis()] = given[1];
      sizes[attrs_.channel_axis()] = w.dim(2);
    }
    if (sizes.size() != 4) {
      return errors::InvalidArgument(call.ctx().op().name,
                                     " requires input_sizes to contain 4 values or 2 values, but got: ", sizes.size());
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
    ASSIGN_OR_RETURN(ConvPlan plan, ConvPlan::Make(attrs_, dy.dtype(), shape, w.shape()));
    RETURN_IF_ERROR(plan.CheckGradient(dy.shape()));
    ASSIGN_OR_RETURN(Tensor * dx, call.Output(0, shape));
    if (dx->num_elements() == 0) return OkStatus();
    if (dy.num_elements() == 0) return Zero(call, dx);
    return plan.BackwardInput(call, w, dy, dx);
  }

 private:
  const WindowAttrs attrs_;
};

class Conv2DBackpropFilter final : public CudaKernel {
 public:
  explicit Conv2DBackpropFilter(KernelInit& init) : attrs_(ReadConvAttrs(init)) {}

  Status Issue(Call& call) override {
    const Tensor& x = call.input(0);
    const Tensor& dy = call.input(2);
    Dims sizes;
    RETURN_IF_ERROR(ReadInts(call.input(1), &sizes));
    if (sizes.size() != 4) {
      return errors::InvalidArgument(call.ctx().op().name,
                                     " requires filter_sizes to contain 4 values, but got: ", sizes.size());
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
    ASSIGN_OR_RETURN(ConvPlan plan, ConvPlan::Make(attrs_, x.dtype(), x.shape(), shape));
    RETURN_IF_ERROR(plan.CheckGradient(dy.shape()));
    ASSIGN_OR_RETURN(Tensor * dw, call.Output(0, shape));
    if (dw->num_elements() == 0) return OkStatus();
    if (x.num_elements() == 0 || dy.num_elements() == 0) return Zero(call, dw);
    return plan.BackwardFilter(call, x, dy, dw);
  }

 private:
  const WindowAttrs attrs_;
};

using ConvTypes = Types<Half, BFloat16, float, double>;
CUDA_KERNEL("Conv2D").ClassFor<Conv2D>(ConvTypes{});
CUDA_KERNEL("_FusedConv2D").ClassFor<FusedConv2D>(ConvTypes{});
CUDA_KERNEL("Conv2DBackpropInput").HostMemory("input_sizes").ClassFor<Conv2DBackpropInput>(ConvTypes{});
CUDA_KERNEL("Conv2DBackpropFilter").HostMemory("filter_sizes").ClassFor<Conv2DBackpropFilter>(ConvTypes{});

}  // namespace
}  // namespace millstream::cuda
