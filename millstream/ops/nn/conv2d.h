// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_CONV2D_H_
#define MILLSTREAM_OPS_NN_CONV2D_H_

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/nn/window.h"

// The kernels of Conv2D, DepthwiseConv2dNative and their gradients. Images with channels first are transposed
// before and after; 16-bit floats are computed in float, int32 by plain loops.
namespace millstream {

struct Convolution {
  math::ConvShape shape;
  bool depthwise = false;
  const Tensor* bias = nullptr;  // in float or double
  math::Activation activation = math::Activation::kNone;
};
// `out` has the number of elements that the shape says.
Status Convolve(KernelContext& ctx, const Convolution& c, const Tensor& input, const Tensor& filter, Tensor* out);

// The attributes of one of these ops as its kernel needs them: for channels last, and how its operands lie.
struct ConvAttrs {
  explicit ConvAttrs(KernelInit& init);
  WindowAttrs window;
  ImageLayout layout;
};

// Inputs: images, filter.
class ConvForward : public Kernel {
 public:
  ConvForward(KernelInit& init, bool depthwise);
  Status Compute(KernelContext& ctx) final;

 protected:
  bool bias_ = false;  // input 2 is a bias
  math::Activation activation_ = math::Activation::kNone;

 private:
  StatusOr<Tensor> Bias(KernelContext& ctx, const math::ConvShape& shape) const;
  const ConvAttrs attrs_;
  const bool depthwise_;
};

// Inputs: sizes of the images, filter, gradient at the output.
class ConvBackpropInput : public Kernel {
 public:
  ConvBackpropInput(KernelInit& init, bool depthwise);
  Status Compute(KernelContext& ctx) final;

 private:
  // With channels last.
  Status Run(KernelContext& ctx, const math::ConvShape& s, const Tensor& filter, const Tensor& dy, Tensor* out) const;
  const ConvAttrs attrs_;
  const bool depthwise_;
};

// Inputs: images, sizes of the filter, gradient at the output.
class ConvBackpropFilter : public Kernel {
 public:
  ConvBackpropFilter(KernelInit& init, bool depthwise);
  Status Compute(KernelContext& ctx) final;

 private:
  const ConvAttrs attrs_;
  const bool depthwise_;
};

template <typename K, bool depthwise>
class ConvOp final : public K {
 public:
  explicit ConvOp(KernelInit& init) : K(init, depthwise) {}
};

// What the declarations of all ops of these families have.
inline void Conv2DWindowAttrs(OpBuilder& op) {
  op.Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
      .Attr("explicit_paddings: list(int) = []")
      .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Attr("dilations: list(int) = [1, 1, 1, 1]");
}

Status Conv2DShape(ShapeContext& c);
Status DepthwiseConv2DShape(ShapeContext& c);
Status ConvBackpropInputShape(ShapeContext& c);
Status ConvBackpropFilterShape(ShapeContext& c);
// The output has the four sizes that input i holds.
Status ConvSizesShape(ShapeContext& c, int i);

// The gradients of the three ops of a family, whose names are given.
struct ConvFamily {
  const char *forward, *backprop_input, *backprop_filter;
};
Status ConvForwardGradient(GradContext& g, const ConvFamily& family);
Status ConvBackpropInputGradient(GradContext& g, const ConvFamily& family);
Status ConvBackpropFilterGradient(GradContext& g, const ConvFamily& family);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_CONV2D_H_
