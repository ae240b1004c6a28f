// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "millstream/framework/op.h"
#include "millstream/math/reduce.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

// A tensor seen as [outer, channels, inner]; inner is 1 when channels come last.
struct ChannelView {
  int64_t outer, channels, inner;
};

bool ChannelsFirst(const KernelInit& init) {
  const AttrValue* format = init.attrs().Find("data_format");
  const std::string* name = format == nullptr ? nullptr : format->get<std::string>();
  return name != nullptr && *name == "NCHW";
}

StatusOr<ChannelView> ViewChannels(const Tensor& t, bool channels_first) {
  if (t.rank() < 2) return errors::InvalidArgument("Input tensor must be at least 2D: ", t.shape().ToString());
  const int c = channels_first ? 1 : t.rank() - 1;
  return ChannelView{t.shape().Product(0, c), t.dim(c), t.shape().Product(c + 1, t.rank())};
}

// Rows [begin, end) of out = value + bias, where a row is all channels at one place, or one channel if inner > 1.
template <typename T>
void AddRows(const T* value, const T* bias, T* out, const ChannelView& v, int64_t begin, int64_t end) {
  using W = Compute<T>;
  simd::Run<T>([=, channels = v.channels, inner = v.inner] {
    if (inner == 1) {
      for (int64_t row = begin; row < end; ++row) {
        const T* x = value + row * channels;
        T* y = out + row * channels;
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t c = 0; c < channels; ++c) y[c] = static_cast<T>(W(x[c]) + W(bias[c]));
      }
      return 0;
    }
    for (int64_t row = begin; row < end; ++row) {
      const W b = W(bias[row % channels]);
      const T* x = value + row * inner;
      T* y = out + row * inner;
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t i = 0; i < inner; ++i) y[i] = static_cast<T>(W(x[i]) + b);
    }
    return 0;
  });
}

template <typename T>
void AddBias(KernelContext& ctx, const Tensor& value, const Tensor& bias, Tensor* out, const ChannelView& v) {
  const T *x = static_cast<const T*>(value.raw()), *b = static_cast<const T*>(bias.raw());
  T* y = static_cast<T*>(out->raw());
  const int64_t rows = v.inner == 1 ? v.outer : v.outer * v.channels;
  const int64_t width = v.inner == 1 ? v.channels : v.inner;
  ctx.ParallelFor(rows, 1.0 + 0.1 * static_cast<double>(width * static_cast<int64_t>(sizeof(T))) / 4,
                  [&](int64_t begin, int64_t end) { AddRows(x, b, y, v, begin, end); });
}

class BiasAdd final : public Kernel {
 public:
  explicit BiasAdd(KernelInit& init) : channels_first_(ChannelsFirst(init)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &value = ctx.input(0), &bias = ctx.input(1);
    ASSIGN_OR_RETURN(const ChannelView v, ViewChannels(value, channels_first_));
    if (bias.rank() != 1) return errors::InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    if (bias.dim(0) != v.channels) {
      return errors::InvalidArgument("Must provide as many biases as the channel dimension of the input tensor: ",
                                     bias.shape().ToString(), " vs. ", v.channels, " in ", value.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, value.shape()));
    if (value.num_elements() == 0) return OkStatus();
    switch (value.dtype()) {
      case DType::kFloat:
        AddBias<float>(ctx, value, bias, out, v);
        break;
      case DType::kDouble:
        AddBias<double>(ctx, value, bias, out, v);
        break;
      case DType::kHalf:
        AddBias<Half>(ctx, value, bias, out, v);
        break;
      case DType::kBfloat16:
        AddBias<BFloat16>(ctx, value, bias, out, v);
        break;
      case DType::kComplex64:
        AddBias<std::complex<float>>(ctx, value, bias, out, v);
        break;
      case DType::kComplex128:
        AddBias<std::complex<double>>(ctx, value, bias, out, v);
        break;
      // Integers wrap around: signed and unsigned sums have the same bits.
      case DType::kInt8:
      case DType::kUint8:
        AddBias<uint8_t>(ctx, value, bias, out, v);
        break;
      case DType::kInt16:
      case DType::kUint16:
        AddBias<uint16_t>(ctx, value, bias, out, v);
        break;
      case DType::kInt32:
      case DType::kUint32:
        AddBias<uint32_t>(ctx, value, bias, out, v);
        break;
      default:
        AddBias<uint64_t>(ctx, value, bias, out, v);
    }
    return OkStatus();
  }

 private:
  const bool channels_first_;
};

class BiasAddGrad final : public Kernel {
 public:
  explicit BiasAddGrad(KernelInit& init) : channels_first_(ChannelsFirst(init)) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ChannelView v, ViewChannels(ctx.input(0), channels_first_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({v.channels})));
    ASSIGN_OR_RETURN(const Tensor dy, AsFloat(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor sums, FloatFor(ctx, out));
    // A complex number is summed as two real ones.
    switch (dy.dtype()) {
      case DType::kFloat:
        RETURN_IF_ERROR(Sum<float>(ctx, dy, v, 1, &sums));
        break;
      case DType::kDouble:
        RETURN_IF_ERROR(Sum<double>(ctx, dy, v, 1, &sums));
        break;
      case DType::kComplex64:
        RETURN_IF_ERROR(Sum<float>(ctx, dy, v, 2, &sums));
        break;
      case DType::kComplex128:
        RETURN_IF_ERROR(Sum<double>(ctx, dy, v, 2, &sums));
        break;
      case DType::kInt8:
      case DType::kUint8:
        SumInts<uint8_t>(dy, v, &sums);
        break;
      case DType::kInt16:
      case DType::kUint16:
        SumInts<uint16_t>(dy, v, &sums);
        break;
      case DType::kInt32:
      case DType::kUint32:
        RETURN_IF_ERROR(Sum<int32_t>(ctx, dy, v, 1, &sums));
        break;
      default:
        RETURN_IF_ERROR(Sum<int64_t>(ctx, dy, v, 1, &sums));
    }
    StoreFloat(ctx, sums, out);
    return OkStatus();
  }

 private:
  template <typename T>
  static Status Sum(KernelContext& ctx, const Tensor& dy, const ChannelView& v, int64_t parts, Tensor* out) {
    const T* x = static_cast<const T*>(dy.raw());
    T* y = static_cast<T*>(out->raw());
    if (v.inner == 1) {
      math::Reduce<math::reduction::Sum>(x, y, {1, v.outer, v.channels * parts}, ctx.pool());
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(kDTypeOf<T>, Shape({v.outer, v.channels * parts})));
    math::Reduce<math::reduction::Sum>(x, places.data<T>(), {v.outer * v.channels, v.inner, parts}, ctx.pool());
    math::Reduce<math::reduction::Sum>(places.data<T>(), y, {1, v.outer, v.channels * parts}, ctx.pool());
    return OkStatus();
  }

  template <typename T>
  static void SumInts(const Tensor& dy, const ChannelView& v, Tensor* out) {
    const T* x = static_cast<const T*>(dy.raw());
    T* y = static_cast<T*>(out->raw());
    std::fill_n(y, v.channels, T(0));
    for (int64_t o = 0; o < v.outer; ++o) {
      for (int64_t c = 0; c < v.channels; ++c) {
        for (int64_t i = 0; i < v.inner; ++i) y[c] = static_cast<T>(y[c] + *x++);
      }
    }
  }

  const bool channels_first_;
};

// V1 has no data_format: channels are last.
Status DataFormat(ShapeContext& c, bool* channels_first) {
  std::string format = "NHWC";
  if (c.attrs().Has("data_format")) RETURN_IF_ERROR(c.GetAttr("data_format", &format));
  *channels_first = format == "NCHW";
  return OkStatus();
}

Status BiasAddShape(ShapeContext& c) {
  bool channels_first = false;
  RETURN_IF_ERROR(DataFormat(c, &channels_first));
  PartialShape value, bias;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), channels_first ? 3 : 2, &value));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &bias));
  if (!value.rank_known()) return OkStatus();
  const int channel = channels_first ? 1 : value.rank() - 1;
  int64_t channels = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(value.dim(channel), bias.dim(0), &channels));
  value.set_dim(channel, channels);
  c.set_output(0, value);
  return OkStatus();
}

Status BiasAddGradShape(ShapeContext& c) {
  bool channels_first = false;
  RETURN_IF_ERROR(DataFormat(c, &channels_first));
  PartialShape dy;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), channels_first ? 3 : 2, &dy));
  c.set_output(0, PartialShape({dy.rank_known() ? dy.dim(channels_first ? 1 : dy.rank() - 1) : -1}));
  return OkStatus();
}

Status BiasAddGradient(GradContext& g) {
  const Output dy = g.dy(0);
  g.set_dx(0, dy);
  g.set_dx(1, g.Op("BiasAddGrad", {dy}, {{"data_format", g.Attr<std::string>("data_format")}}));
  return g.status();
}

Status BiasAddV1Gradient(GradContext& g) {
  const Output dy = g.dy(0);
  g.set_dx(0, dy);
  g.set_dx(1, g.Op("BiasAddGrad", {dy}));
  return g.status();
}

// The gradient of a bias, repeated wherever the bias was added.
Status BiasAddGradGradient(GradContext& g) {
  const Output shape = g.Op("Shape", {g.input(0)});
  Output db = g.dy(0);
  if (g.Attr<std::string>("data_format") == "NCHW") {
    const auto ints = [&](int32_t v) { return g.scope().Constant({v}); };
    const Output rest = g.Op("StridedSlice", {shape, ints(2), ints(0), ints(1)}, {{"end_mask", 1}});
    const Output kept =
        g.Op("ConcatV2", {g.Op("Shape", {db}), g.Op("OnesLike", {rest}), g.scope().Const(int32_t{0})}, {{"N", 2}});
    db = g.Op("Reshape", {db, kept});
  }
  g.set_dx(0, g.Op("BroadcastTo", {db, shape}));
  return g.status();
}

OP("BiasAdd")
    .Input("value: T")
    .Input("bias: T")
    .Output("output: T")
    .Attr("T: numbertype")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Shape(BiasAddShape)
    .Gradient(BiasAddGradient)
    .CpuFor<BiasAdd>(NumberTypes{})
    .Doc("value + bias, a bias for each channel: the last dimension, or the second with NCHW.");

OP("BiasAddV1")
    .Input("value: T")
    .Input("bias: T")
    .Output("output: T")
    .Attr("T: numbertype")
    .Shape(BiasAddShape)
    .Gradient(BiasAddV1Gradient)
    .CpuFor<BiasAdd>(NumberTypes{})
    .Doc("BiasAdd over the last dimension; for old graphs.");

OP("BiasAddGrad")
    .Input("out_backprop: T")
    .Output("output: T")
    .Attr("T: numbertype")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Shape(BiasAddGradShape)
    .Gradient(BiasAddGradGradient)
    .CpuFor<BiasAddGrad>(NumberTypes{})
    .Doc("The gradient of BiasAdd's bias: the sum over all dimensions but that of the channels.");

}  // namespace
}  // namespace millstream
