// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/nn/conv_plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "millstream/devices/cuda/kernels/nn/bias_activation.h"
#include "millstream/devices/cuda/kernels/nn/conv_algorithm.h"

namespace millstream::cuda {
namespace {

constexpr int64_t kWorthMeasuring = int64_t{1} << 23;  // multiplications

cudnnDataType_t TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return CUDNN_DATA_HALF;
    case DType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// From the order of NCHW to that of NHWC.
template <typename V>
V ChannelsLast(const V& v, int each) {
  V to = v;
  const int order[] = {0, 2, 3, 1};
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < each; ++k) to[i * each + k] = v[order[i] * each + k];
  }
  return to;
}

Shape ShapeChannelsLast(const Shape& s) { return Shape({s.dim(0), s.dim(2), s.dim(3), s.dim(1)}); }

WindowAttrs AttrsChannelsLast(WindowAttrs a) {
  a.strides = ChannelsLast(a.strides, 1);
  if (a.dilations.size() == 4) a.dilations = ChannelsLast(a.dilations, 1);
  if (a.explicit_paddings.size() == 8) a.explicit_paddings = ChannelsLast(a.explicit_paddings, 2);
  a.channels_first = false;
  return a;
}

}  // namespace

struct ConvPlan::Descriptors {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  ~Descriptors() {
    if (x != nullptr) cudnnDestroyTensorDescriptor(x);
    if (y != nullptr) cudnnDestroyTensorDescriptor(y);
    if (w != nullptr) cudnnDestroyFilterDescriptor(w);
    if (conv != nullptr) cudnnDestroyConvolutionDescriptor(conv);
  }
};

WindowAttrs ReadConvAttrs(KernelInit& init) {
  StatusOr<WindowAttrs> attrs = WindowAttrs::Read(init.attrs());
  init.Check(attrs.status());
  return attrs.ok() ? *std::move(attrs) : WindowAttrs();
}

Status Zero(Call& call, Tensor* t) {
  RETURN_IF_CUDA_ERROR(cudaMemsetAsync(t->raw(), 0, t->ByteSize(), call.stream()));
  return OkStatus();
}

StatusOr<ConvPlan> ConvPlan::Make(const WindowAttrs& attrs, DType dtype, const Shape& input, const Shape& filter) {
  ConvPlan plan;
  plan.dtype_ = dtype;
  plan.channels_first_ = attrs.channels_first;
  if (input.rank() != 4) return errors::InvalidArgument("input must be 4-dimensional", input.ToString());
  const Shape images = attrs.channels_first ? ShapeChannelsLast(input) : input;
  ASSIGN_OR_RETURN(plan.s_,
                   MakeConvShape(attrs.channels_first ? AttrsChannelsLast(attrs) : attrs, images, filter, false));
  math::ConvShape& s = plan.s_;
  ASSIGN_OR_RETURN(plan.output_shape_, OutputShape(s, s.out_channels));
  if (attrs.channels_first) plan.output_shape_ = Shape({s.batch, s.out_channels, s.out_height, s.out_width});
  // What lies below and to the right follows from the output; cuDNN pads the same on both sides.
  const auto after = [](int64_t out, int64_t stride, int64_t window, int64_t dilation, int64_t in, int64_t before) {
    return std::max<int64_t>(0, (out - 1) * stride + (window - 1) * dilation + 1 - in - before);
  };
  const int64_t bottom =
      after(s.out_height, s.stride_height, s.filter_height, s.dilation_height, s.in_height, s.pad_top);
  const int64_t right = after(s.out_width, s.stride_width, s.filter_width, s.dilation_width, s.in_width, s.pad_left);
  PaddedImages& p = plan.images_;
  p.outer = attrs.channels_first ? s.batch * s.in_channels : s.batch;
  p.inner = attrs.channels_first ? 1 : s.in_channels;
  p.height = p.padded_height = s.in_height;
  p.width = p.padded_width = s.in_width;
  if (bottom != s.pad_top || right != s.pad_left) {
    p.top = s.pad_top;
    p.left = s.pad_left;
    p.padded_height = s.in_height + s.pad_top + bottom;
    p.padded_width = s.in_width + s.pad_left + right;
    s.pad_top = s.pad_left = 0;
  }
  return plan;
}

Status ConvPlan::CheckGradient(const Shape& out_grad) const {
  if (out_grad == output_shape_) return OkStatus();
  return errors::InvalidArgument("Size of out_backprop doesn't match computed: actual = ", out_grad.ToString(),
                                 ", computed = ", output_shape_.ToString());
}

Shape ConvPlan::PaddedShape() const {
  if (channels_first_) return Shape({s_.batch, s_.in_channels, images_.padded_height, images_.padded_width});
  return Shape({s_.batch, images_.padded_height, images_.padded_width, s_.in_channels});
}

Status ConvPlan::Describe(Descriptors* d) const {
  const cudnnTensorFormat_t format = channels_first_ ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
  const cudnnDataType_t type = TypeOf(dtype_);
  const auto n = [](int64_t v) { return static_cast<int>(v); };
  RETURN_IF_CUDNN_ERROR(cudnnCreateTensorDescriptor(&d->x));
  RETURN_IF_CUDNN_ERROR(cudnnCreateTensorDescriptor(&d->y));
  RETURN_IF_CUDNN_ERROR(cudnnCreateFilterDescriptor(&d->w));
  RETURN_IF_CUDNN_ERROR(cudnnCreateConvolutionDescriptor(&d->conv));
  RETURN_IF_CUDNN_ERROR(cudnnSetTensor4dDescriptor(d->x, format, type, n(s_.batch), n(s_.in_channels),
                                                   n(images_.padded_height), n(images_.padded_width)));
  RETURN_IF_CUDNN_ERROR(cudnnSetTensor4dDescriptor(d->y, format, type, n(s_.batch), n(s_.out_channels),
                                                   n(s_.out_height), n(s_.out_width)));
  RETURN_IF_CUDNN_ERROR(cudnnSetFilter4dDescriptor(d->w, type, format, n(s_.out_channels), n(s_.in_group()),
                                                   n(s_.filter_height), n(s_.filter_width)));
  RETURN_IF_CUDNN_ERROR(cudnnSetConvolution2dDescriptor(d->conv, n(s_.pad_top), n(s_.pad_left), n(s_.stride_height),
                                                        n(s_.stride_width), n(s_.dilation_height), n(s_.dilation_width),
                                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  RETURN_IF_CUDNN_ERROR(cudnnSetConvolutionGroupCount(d->conv, n(s_.groups)));
  const bool tensor_op = dtype_ == DType::kHalf || dtype_ == DType::kBfloat16;
  RETURN_IF_CUDNN_ERROR(cudnnSetConvolutionMathType(d->conv, tensor_op ? CUDNN_TENSOR_OP_MATH : CUDNN_DEFAULT_MATH));
  return OkStatus();
}

math::ConvShape ConvPlan::UnpaddedShape() const {
  math::ConvShape s = s_;
  s.pad_top += images_.top;
  s.pad_left += images_.left;
  return s;
}

std::string ConvPlan::Key(const Call& call, char kind) const {
  const auto kind_name = absl::string_view(&kind, 1);
  std::string key = absl::StrCat(kind_name, call.gpu().ordinal(), DTypeName(dtype_), channels_first_ ? "F" : "L");
  for (const int64_t v : {s_.batch, images_.padded_height, images_.padded_width, s_.in_channels, s_.filter_height,
                          s_.filter_width, s_.out_channels, s_.stride_height, s_.stride_width, s_.dilation_height,
                          s_.dilation_width, s_.pad_top, s_.pad_left, s_.groups}) {
    absl::StrAppend(&key, ",", v);
  }
  return key;
}

bool ConvPlan::ShouldMeasure(const Call& call) const {
  const int64_t taps = s_.filter_height * s_.filter_width * s_.in_group();
  return s_.output_size() >= kWorthMeasuring / std::max<int64_t>(taps, 1) && MayMeasure(call);
}

StatusOr<Tensor> ConvPlan::Padded(Call& call, const Tensor& x) const {
  if (!pads_unevenly()) return x;
  ASSIGN_OR_RETURN(Tensor images, call.Temp(dtype_, PaddedShape()));
  RETURN_IF_ERROR(PadImages(call, images_, x, &images));
  return images;
}

Status ConvPlan::RunForward(Call& call, const Tensor& images, const Tensor& filter, Tensor* y) const {
  Descriptors d;
  RETURN_IF_ERROR(Describe(&d));
  return RunConvolution<ConvForward>(call, Key(call, 'f'), ShouldMeasure(call), OperandOf(d.x, images),
                                     OperandOf(d.w, filter), d.conv, OperandOf(d.y, *y));
}

Status ConvPlan::Forward(Call& call, const Tensor& x, const Tensor& w, const ConvFollowers& followers,
                         Tensor* y) const {
  if (HasFewChannels(s_, dtype_, channels_first_)) {
    return FewChannelsForward(call, UnpaddedShape(), x, w, followers, y);
  }
  if (dtype_ == DType::kDouble) {
    RETURN_IF_ERROR(DirectForward(call, UnpaddedShape(), channels_first_, x, w, y));
  } else {
    ASSIGN_OR_RETURN(Tensor filter, call.Temp(dtype_, w.shape()));
    RETURN_IF_ERROR(FilterToCudnn(call, s_, channels_first_, w, &filter));
    ASSIGN_OR_RETURN(const Tensor images, Padded(call, x));
    RETURN_IF_ERROR(RunForward(call, images, filter, y));
  }
  if (followers.bias == nullptr) return OkStatus();
  return AddBiasAndActivate(call, *y, *followers.bias, followers.activation, channels_first_, y);
}

Status ConvPlan::BackwardInputAsGradient(Call& call, const Tensor& w, const Tensor& dy, Tensor* dx) const {
  ASSIGN_OR_RETURN(Tensor filter, call.Temp(dtype_, w.shape()));
  RETURN_IF_ERROR(FilterToCudnn(call, s_, channels_first_, w, &filter));
  Tensor images = *dx;
  if (pads_unevenly()) {
    ASSIGN_OR_RETURN(images, call.Temp(dtype_, PaddedShape()));
  }
  Descriptors d;
  RETURN_IF_ERROR(Describe(&d));
  RETURN_IF_ERROR(RunConvolution<ConvBackwardInput>(call, Key(call, 'i'), ShouldMeasure(call), OperandOf(d.w, filter),
                                                    OperandOf(d.y, dy), d.conv, OperandOf(d.x, images)));
  return pads_unevenly() ? CropImages(call, images_, images, dx) : OkStatus();
}

bool ConvPlan::HasMirror() const {
  return s_.stride_height == 1 && s_.stride_width == 1 && s_.groups == 1 && !pads_unevenly() &&
         s_.pad_top <= (s_.filter_height - 1) * s_.dilation_height &&
         s_.pad_left <= (s_.filter_width - 1) * s_.dilation_width;
}

ConvPlan ConvPlan::Mirror() const {
  ConvPlan mirror = *this;
  math::ConvShape& s = mirror.s_;
  std::swap(s.in_channels, s.out_channels);
  std::swap(s.in_height, s.out_height);
  std::swap(s.in_width, s.out_width);
  s.pad_top = (s.filter_height - 1) * s.dilation_height - s.pad_top;
  s.pad_left = (s.filter_width - 1) * s.dilation_width - s.pad_left;
  mirror.images_.padded_height = mirror.images_.height = s.in_height;
  mirror.images_.padded_width = mirror.images_.width = s.in_width;
  return mirror;
}

Status ConvPlan::BackwardInputByMirror(Call& call, const ConvPlan& mirror, const Tensor& w, const Tensor& dy,
                                       Tensor* dx) const {
  ASSIGN_OR_RETURN(Tensor filter, call.Temp(dtype_, w.shape()));
  RETURN_IF_ERROR(MirrorFilter(call, s_, channels_first_, w, &filter));
  return mirror.RunForward(call, dy, filter, dx);
}

Status ConvPlan::BackwardInput(Call& call, const Tensor& w, const Tensor& dy, Tensor* dx) const {
  if (dtype_ == DType::kDouble) return DirectBackwardInput(call, UnpaddedShape(), channels_first_, w, dy, dx);
  if (!HasMirror()) return BackwardInputAsGradient(call, w, dy, dx);
  const ConvPlan mirror = Mirror();
  std::optional<ConvAlgorithm> gradient = FindConvAlgorithm(Key(call, 'i'));
  std::optional<ConvAlgorithm> convolution = FindConvAlgorithm(mirror.Key(call, 'f'));
  if (!convolution.has_value() && ShouldMeasure(call)) {  // both give the same; the time is kept
    RETURN_IF_ERROR(BackwardInputByMirror(call, mirror, w, dy, dx));
    convolution = FindConvAlgorithm(mirror.Key(call, 'f'));
  }
  const bool compare = gradient.has_value() && convolution.has_value();
  if (compare && convolution->milliseconds < gradient->milliseconds) {
    return BackwardInputByMirror(call, mirror, w, dy, dx);
  }
  return BackwardInputAsGradient(call, w, dy, dx);
}

Status ConvPlan::BackwardFilter(Call& call, const Tensor& x, const Tensor& dy, Tensor* dw) const {
  if (HasFewChannels(s_, dtype_, channels_first_)) {
    return FewChannelsBackwardFilter(call, UnpaddedShape(), x, dy, dw);
  }
  if (dtype_ == DType::kDouble) return DirectBackwardFilter(call, UnpaddedShape(), channels_first_, x, dy, dw);
  ASSIGN_OR_RETURN(Tensor filter, call.Temp(dtype_, dw->shape()));
  ASSIGN_OR_RETURN(const Tensor images, Padded(call, x));
  Descriptors d;
  RETURN_IF_ERROR(Describe(&d));
  RETURN_IF_ERROR(RunConvolution<ConvBackwardFilter>(call, Key(call, 'w'), ShouldMeasure(call), OperandOf(d.x, images),
                                                     OperandOf(d.y, dy), d.conv, OperandOf(d.w, filter)));
  return FilterFromCudnn(call, s_, channels_first_, filter, dw);
}

}  // namespace millstream::cuda
