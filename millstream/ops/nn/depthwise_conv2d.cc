// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/conv2d.h"

namespace millstream {
namespace {

constexpr ConvFamily kDepthwise = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                   "DepthwiseConv2dNativeBackpropFilter"};
Status ForwardGradient(GradContext& g) { return ConvForwardGradient(g, kDepthwise); }
Status InputGradient(GradContext& g) { return ConvBackpropInputGradient(g, kDepthwise); }
Status FilterGradient(GradContext& g) { return ConvBackpropFilterGradient(g, kDepthwise); }

Status BackpropInputShape(ShapeContext& c) { return ConvSizesShape(c, 0); }

OP("DepthwiseConv2dNative")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("strides: list(int)")
    .With(Conv2DWindowAttrs)
    .Shape(DepthwiseConv2DShape)
    .Gradient(ForwardGradient)
    .CpuFor<ConvOp<ConvForward, true>>(FloatTypes{})
    .Expensive()
    .Doc("Convolves every channel by itself, with a filter [height, width, channels, multiplier].");

OP("DepthwiseConv2dNativeBackpropInput")
    .Input("input_sizes: int32")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("strides: list(int)")
    .With(Conv2DWindowAttrs)
    .Shape(BackpropInputShape)
    .Gradient(InputGradient)
    .CpuFor<ConvOp<ConvBackpropInput, true>>(FloatTypes{})
    .Expensive()
    .HostMemory("input_sizes")
    .Doc("The gradient of DepthwiseConv2dNative's images.");

OP("DepthwiseConv2dNativeBackpropFilter")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("strides: list(int)")
    .With(Conv2DWindowAttrs)
    .Shape(ConvBackpropFilterShape)
    .Gradient(FilterGradient)
    .CpuFor<ConvOp<ConvBackpropFilter, true>>(FloatTypes{})
    .Expensive()
    .HostMemory("filter_sizes")
    .Doc("The gradient of DepthwiseConv2dNative's filter.");

}  // namespace
}  // namespace millstream
