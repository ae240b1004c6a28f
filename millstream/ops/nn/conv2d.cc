// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/conv2d.h"

#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/math/fused_ops.h"

namespace millstream {

namespace {

// Sets the output shape from those of input and filter, in the order of the data format.
Status SetConvolvedShape(ShapeContext& c, const WindowAttrs& a, const PartialShape& input, const PartialShape& filter,
                         int64_t channels) {
  ASSIGN_OR_RETURN(const int64_t height,
                   OutputSizeIfItFits(a, a.height_axis(), input.dim(a.height_axis()), filter.dim(0)));
  ASSIGN_OR_RETURN(const int64_t width,
                   OutputSizeIfItFits(a, a.width_axis(), input.dim(a.width_axis()), filter.dim(1)));
  PartialShape out = PartialShape::UnknownOfRank(4);
  out.set_dim(0, input.dim(0));
  out.set_dim(a.height_axis(), height);
  out.set_dim(a.width_axis(), width);
  out.set_dim(a.channel_axis(), channels);
  c.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

Status Conv2DShape(ShapeContext& c) {
  PartialShape input, filter;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &input));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 4, &filter));
  ASSIGN_OR_RETURN(const WindowAttrs a, WindowAttrs::Read(c.attrs()));
  const int64_t depth = input.dim(a.channel_axis()), group = filter.dim(2), channels = filter.dim(3);
  if (depth >= 0 && group > 0) {
    if (depth % group != 0) {
      return errors::InvalidArgument("Depth of input (", depth, ") is not a multiple of input depth of filter (", group,
                                     ")");
    }
    const int64_t groups = depth / group;
    if (groups > 0 && channels >= 0 && channels % groups != 0) {
      return errors::InvalidArgument("Depth of output (", channels, ") is not a multiple of the number of groups (",
                                     groups, ")");
    }
  }
  return SetConvolvedShape(c, a, input, filter, channels);
}

Status DepthwiseConv2DShape(ShapeContext& c) {
  PartialShape input, filter;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &input));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 4, &filter));
  ASSIGN_OR_RETURN(const WindowAttrs a, WindowAttrs::Read(c.attrs()));
  int64_t depth = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(input.dim(a.channel_axis()), filter.dim(2), &depth));
  const int64_t multiplier = filter.dim(3);
  int64_t channels = -1;
  if (depth >= 0 && multiplier >= 0 && __builtin_mul_overflow(depth, multiplier, &channels)) {
    return errors::InvalidArgument("Depth of output too large: ", depth, " * ", multiplier);
  }
  return SetConvolvedShape(c, a, input, filter, channels);
}

Status ConvBackpropInputShape(ShapeContext& c) {
  PartialShape filter, dy;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 4, &filter));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 4, &dy));
  ASSIGN_OR_RETURN(const WindowAttrs a, WindowAttrs::Read(c.attrs()));
  int64_t unused = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(dy.dim(a.channel_axis()), filter.dim(3), &unused));
  ASSIGN_OR_RETURN(PartialShape sizes, c.ConstantAsShape(0));
  PartialShape out = sizes.rank() == 4 ? sizes : PartialShape::UnknownOfRank(4);
  if (sizes.rank() == 2) {
    out.set_dim(a.height_axis(), sizes.dim(0));
    out.set_dim(a.width_axis(), sizes.dim(1));
    out.set_dim(a.channel_axis(), filter.dim(2));
  } else if (sizes.rank() == 4) {
    RETURN_IF_ERROR(ShapeContext::MergeDim(sizes.dim(0), dy.dim(0), &unused));
  } else if (sizes.rank_known()) {
    return errors::InvalidArgument(
        "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, "
        "but got: ",
        sizes.rank());
  }
  out.set_dim(0, dy.dim(0));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status ConvBackpropFilterShape(ShapeContext& c) { return ConvSizesShape(c, 1); }

Status ConvSizesShape(ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(PartialShape sizes, c.ConstantAsShape(i));
  RETURN_IF_ERROR(ShapeContext::WithRank(sizes, 4, &sizes));
  c.set_output(0, std::move(sizes));
  return OkStatus();
}

namespace {

Output ConvRelative(const GradContext& g, const char* type, std::vector<Output> inputs) {
  return Relative(g, type, std::move(inputs),
                  {"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"});
}

}  // namespace

Status ConvForwardGradient(GradContext& g, const ConvFamily& family) {
  const Output x = g.input(0), w = g.input(1), dy = g.dy(0);
  g.set_dx(0, ConvRelative(g, family.backprop_input, {ShapeOf(g, x), w, dy}));
  g.set_dx(1, ConvRelative(g, family.backprop_filter, {x, ShapeOf(g, w), dy}));
  return g.status();
}

Status ConvBackpropInputGradient(GradContext& g, const ConvFamily& family) {
  const Output w = g.input(1), ddx = g.dy(0);
  g.set_dx(1, ConvRelative(g, family.backprop_filter, {ddx, ShapeOf(g, w), g.input(2)}));
  g.set_dx(2, ConvRelative(g, family.forward, {ddx, w}));
  return g.status();
}

Status ConvBackpropFilterGradient(GradContext& g, const ConvFamily& family) {
  const Output x = g.input(0), ddw = g.dy(0);
  g.set_dx(0, ConvRelative(g, family.backprop_input, {ShapeOf(g, x), ddw, g.input(2)}));
  g.set_dx(2, ConvRelative(g, family.forward, {x, ddw}));
  return g.status();
}

namespace {

constexpr ConvFamily kConv2D = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
Status Conv2DGradient(GradContext& g) { return ConvForwardGradient(g, kConv2D); }
Status InputGradient(GradContext& g) { return ConvBackpropInputGradient(g, kConv2D); }
Status FilterGradient(GradContext& g) { return ConvBackpropFilterGradient(g, kConv2D); }

// Conv2D with what follows it: BiasAdd, and then Relu or Relu6.
class FusedConv2D final : public ConvForward {
 public:
  explicit FusedConv2D(KernelInit& init) : ConvForward(init, false) {
    bias_ = true;
    activation_ = FusedActivation(init);
  }
};

using ConvTypes = Join<FloatTypes, Types<int32_t>>;

OP("Conv2D")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32}")
    .Attr("strides: list(int)")
    .Attr("use_cudnn_on_gpu: bool = true")
    .With(Conv2DWindowAttrs)
    .Shape(Conv2DShape)
    .Gradient(Conv2DGradient)
    .CpuFor<ConvOp<ConvForward, false>>(ConvTypes{})
    .Expensive()
    .Doc("Convolves images [batch, height, width, channels] with a filter [height, width, in, out].");

OP("Conv2DBackpropInput")
    .Input("input_sizes: int32")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32}")
    .Attr("strides: list(int)")
    .Attr("use_cudnn_on_gpu: bool = true")
    .With(Conv2DWindowAttrs)
    .Shape(ConvBackpropInputShape)
    .Gradient(InputGradient)
    .CpuFor<ConvOp<ConvBackpropInput, false>>(ConvTypes{})
    .Expensive()
    .HostMemory("input_sizes")
    .Doc("The gradient of Conv2D's images; also the transposed convolution.");

OP("Conv2DBackpropFilter")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("strides: list(int)")
    .Attr("use_cudnn_on_gpu: bool = true")
    .With(Conv2DWindowAttrs)
    .Shape(ConvBackpropFilterShape)
    .Gradient(FilterGradient)
    .CpuFor<ConvOp<ConvBackpropFilter, false>>(FloatTypes{})
    .Expensive()
    .HostMemory("filter_sizes")
    .Doc("The gradient of Conv2D's filter.");

OP("_FusedConv2D")
    .Input("input: T")
    .Input("filter: T")
    .Input("args: num_args * T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("num_args: int >= 0")
    .Attr("strides: list(int)")
    .With(Conv2DWindowAttrs)
    .Attr("use_cudnn_on_gpu: bool = true")
    .Attr("fused_ops: list(string) = []")
    .Attr("epsilon: float = 0.0001")
    .Attr("leakyrelu_alpha: float = 0.2")
    .Shape(Conv2DShape)
    .CpuFor<FusedConv2D>(FloatTypes{})
    .Expensive()
    .Doc("Conv2D, then BiasAdd, then Relu or Relu6 if asked, in one pass. Made by graph rewriting.");

}  // namespace
}  // namespace millstream
