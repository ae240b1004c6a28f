// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/math/conv/conv_generic.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/nn/conv2d.h"
#include "millstream/ops/nn/depthwise.h"

namespace millstream {
namespace {

void ZeroFill(Tensor* t) { std::memset(t->raw(), 0, t->ByteSize()); }

// Sizes given as a tensor.
StatusOr<Dims> ReadSizes(const Tensor& t, absl::string_view what) {
  if (t.rank() != 1) {
    return errors::InvalidArgument(what, " input must be 1-dim, not ", t.rank());
  }
  Dims dims;
  RETURN_IF_ERROR(ReadInts(t, &dims));
  return dims;
}

Status CheckOutGrad(const math::ConvShape& s, const Shape& out_grad) {
  ASSIGN_OR_RETURN(const Shape expected, OutputShape(s, s.out_channels));
  if (out_grad == expected) return OkStatus();
  return errors::InvalidArgument("Size of out_backprop doesn't match computed: actual = ", out_grad.ToString(),
                                 ", computed = ", expected.ToString());
}

}  // namespace

ConvAttrs::ConvAttrs(KernelInit& init) {
  const StatusOr<WindowAttrs> attrs = WindowAttrs::Read(init.attrs());
  init.Check(attrs.status());
  if (!attrs.ok()) return;
  window = attrs->ChannelsLast();
  layout = ImageLayout(attrs->channels_first);
}

ConvForward::ConvForward(KernelInit& init, bool depthwise) : attrs_(init), depthwise_(depthwise) {}

StatusOr<Tensor> ConvForward::Bias(KernelContext& ctx, const math::ConvShape& s) const {
  if (!bias_) return Tensor();
  const Tensor& bias = ctx.input(2);
  if (bias.rank() == 1 && bias.dim(0) == s.out_channels) return AsFloat(ctx, bias);
  return errors::InvalidArgument("bias must have one value for each of ", s.out_channels, " channels, got shape ",
                                 bias.shape().ToString());
}

Status ConvForward::Compute(KernelContext& ctx) {
  const Tensor& filter = ctx.input(1);
  ASSIGN_OR_RETURN(const Tensor input, attrs_.layout.ToLast(ctx, ctx.input(0)));
  ASSIGN_OR_RETURN(const math::ConvShape s, MakeConvShape(attrs_.window, input.shape(), filter.shape(), depthwise_));
  ASSIGN_OR_RETURN(const Tensor bias, Bias(ctx, s));
  ASSIGN_OR_RETURN(const Shape shape, OutputShape(s, s.out_channels));
  ASSIGN_OR_RETURN(Tensor out, attrs_.layout.AllocateOutput(ctx, 0, shape));
  if (out.num_elements() == 0) return OkStatus();
  if (input.num_elements() == 0 && bias_) {
    return errors::InvalidArgument("Fused convolution of empty images: ", input.shape().ToString());
  }
  RETURN_IF_ERROR(Convolve(ctx, {s, depthwise_, bias_ ? &bias : nullptr, activation_}, input, filter, &out));
  attrs_.layout.Store(ctx, 0, out);
  return OkStatus();
}

Status Convolve(KernelContext& ctx, const Convolution& c, const Tensor& input, const Tensor& filter, Tensor* out) {
  const math::ConvShape& s = c.shape;
  if (out->num_elements() == 0) return OkStatus();
  if (input.num_elements() == 0) return ZeroFill(out), OkStatus();
  if (input.dtype() == DType::kInt32) {
    math::Conv2DGeneric<int32_t>(s, input.data<int32_t>(), filter.data<int32_t>(), out->data<int32_t>(), {},
                                 ctx.pool());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, input));
  ASSIGN_OR_RETURN(const Tensor w, AsFloat(ctx, filter));
  ASSIGN_OR_RETURN(Tensor y, FloatFor(ctx, out));
  const auto run = [&]<typename T>(std::type_identity<T>) {
    if (c.depthwise) return DepthwiseForward(s, x.data<T>(), w.data<T>(), y.data<T>(), ctx.pool());
    const math::ConvEpilogue<T> epilogue{c.bias == nullptr ? nullptr : c.bias->data<T>(), c.activation};
    math::Conv2D(s, x.data<T>(), w.data<T>(), y.data<T>(), epilogue, ctx.pool());
  };
  if (x.dtype() == DType::kFloat)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  StoreFloat(ctx, y, out);
  return OkStatus();
}

ConvBackpropInput::ConvBackpropInput(KernelInit& init, bool depthwise) : attrs_(init), depthwise_(depthwise) {}

Status ConvBackpropInput::Compute(KernelContext& ctx) {
  const Tensor& filter = ctx.input(1);
  ASSIGN_OR_RETURN(const Tensor dy, attrs_.layout.ToLast(ctx, ctx.input(2)));
  ASSIGN_OR_RETURN(Dims sizes, ReadSizes(ctx.input(0), "input_sizes"));
  if (filter.rank() != 4 || dy.rank() != 4) {
    return errors::InvalidArgument("filter and out_backprop must be 4-dimensional: ", filter.shape().ToString(), ", ",
                                   dy.shape().ToString());
  }
  if (sizes.size() == 2 && !depthwise_)
    sizes = {dy.dim(0), sizes[0], sizes[1], filter.dim(2)};
  else
    sizes = attrs_.layout.ToLast(sizes);
  if (sizes.size() != 4) {
    return errors::InvalidArgument(ctx.op().name,
                                   " requires input_sizes to contain 4 values or 2 values, but got: ", sizes.size());
  }
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
  ASSIGN_OR_RETURN(const math::ConvShape s, MakeConvShape(attrs_.window, shape, filter.shape(), depthwise_));
  RETURN_IF_ERROR(CheckOutGrad(s, dy.shape()));
  ASSIGN_OR_RETURN(Tensor out, attrs_.layout.AllocateOutput(ctx, 0, shape));
  if (out.num_elements() == 0) return OkStatus();
  RETURN_IF_ERROR(Run(ctx, s, filter, dy, &out));
  attrs_.layout.Store(ctx, 0, out);
  return OkStatus();
}

Status ConvBackpropInput::Run(KernelContext& ctx, const math::ConvShape& s, const Tensor& filter, const Tensor& dy,
                              Tensor* out) const {
  if (dy.num_elements() == 0) return ZeroFill(out), OkStatus();
  if (dy.dtype() == DType::kInt32) {
    math::Conv2DBackpropInputGeneric<int32_t>(s, filter.data<int32_t>(), dy.data<int32_t>(), out->data<int32_t>(),
                                              ctx.pool());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor w, AsFloat(ctx, filter));
  ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, dy));
  ASSIGN_OR_RETURN(Tensor dx, FloatFor(ctx, out));
  const auto run = [&]<typename T>(std::type_identity<T>) {
    if (depthwise_) return DepthwiseBackpropInput(s, w.data<T>(), g.data<T>(), dx.data<T>(), ctx.pool());
    math::Conv2DBackpropInput(s, w.data<T>(), g.data<T>(), dx.data<T>(), ctx.pool());
  };
  if (g.dtype() == DType::kFloat)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  StoreFloat(ctx, dx, out);
  return OkStatus();
}

ConvBackpropFilter::ConvBackpropFilter(KernelInit& init, bool depthwise) : attrs_(init), depthwise_(depthwise) {}

Status ConvBackpropFilter::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Tensor input, attrs_.layout.ToLast(ctx, ctx.input(0)));
  ASSIGN_OR_RETURN(const Tensor dy, attrs_.layout.ToLast(ctx, ctx.input(2)));
  ASSIGN_OR_RETURN(const Dims sizes, ReadSizes(ctx.input(1), "filter_sizes"));
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
  ASSIGN_OR_RETURN(const math::ConvShape s, MakeConvShape(attrs_.window, input.shape(), shape, depthwise_));
  RETURN_IF_ERROR(CheckOutGrad(s, dy.shape()));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (out->num_elements() == 0) return OkStatus();
  if (dy.num_elements() == 0 || input.num_elements() == 0) return ZeroFill(out), OkStatus();
  ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, input));
  ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, dy));
  ASSIGN_OR_RETURN(Tensor dw, FloatFor(ctx, out));
  const auto run = [&]<typename T>(std::type_identity<T>) {
    if (depthwise_) return DepthwiseBackpropFilter(s, x.data<T>(), g.data<T>(), dw.data<T>(), ctx.pool());
    math::Conv2DBackpropFilter(s, x.data<T>(), g.data<T>(), dw.data<T>(), ctx.pool());
  };
  if (g.dtype() == DType::kFloat)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  StoreFloat(ctx, dw, out);
  return OkStatus();
}

}  // namespace millstream
