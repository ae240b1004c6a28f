// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_PLAN_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_PLAN_H_

#include <cudnn.h>

#include <string>

#include "millstream/devices/cuda/kernels/nn/conv_direct.h"
#include "millstream/devices/cuda/kernels/nn/conv_layout.h"
#include "millstream/ops/nn/window.h"

namespace millstream::cuda {

// The attributes of a convolution; errors are the kernel's.
WindowAttrs ReadConvAttrs(KernelInit& init);
Status Zero(Call& call, Tensor* t);

// One convolution of given sizes: as cuDNN does it, or by kernels of our own for what cuDNN does slowly or not at all.
class ConvPlan {
 public:
  // InvalidArgument, worded as TensorFlow's, if the sizes do not fit.
  static StatusOr<ConvPlan> Make(const WindowAttrs& attrs, DType dtype, const Shape& input, const Shape& filter);

  const Shape& output_shape() const { return output_shape_; }
  Status CheckGradient(const Shape& out_grad) const;

  Status Forward(Call& call, const Tensor& x, const Tensor& w, const ConvFollowers& followers, Tensor* y) const;
  Status BackwardInput(Call& call, const Tensor& w, const Tensor& dy, Tensor* dx) const;
  Status BackwardFilter(Call& call, const Tensor& x, const Tensor& dy, Tensor* dw) const;

 private:
  struct Descriptors;

  bool pads_unevenly() const {
    return images_.padded_height != images_.height || images_.padded_width != images_.width;
  }
  Status Describe(Descriptors* d) const;
  Shape PaddedShape() const;
  // As TensorFlow means it: before PadImages().
  math::ConvShape UnpaddedShape() const;
  // Stands for the sizes and the kind of convolution.
  std::string Key(const Call& call, char kind) const;
  // Small convolutions are not worth trying all algorithms of cuDNN.
  bool ShouldMeasure(const Call& call) const;
  // Images with even padding, or with the padding written out.
  StatusOr<Tensor> Padded(Call& call, const Tensor& x) const;
  Status RunForward(Call& call, const Tensor& images, const Tensor& filter, Tensor* y) const;
  // The gradient of the images by cuDNN's own algorithms for it.
  Status BackwardInputAsGradient(Call& call, const Tensor& w, const Tensor& dy, Tensor* dx) const;
  // With strides of 1, that gradient is the convolution of `dy` with the mirrored filter.
  bool HasMirror() const;
  ConvPlan Mirror() const;
  Status BackwardInputByMirror(Call& call, const ConvPlan& mirror, const Tensor& w, const Tensor& dy, Tensor* dx) const;

  DType dtype_ = DType::kFloat;
  bool channels_first_ = false;
  math::ConvShape s_;  // padding as cuDNN is told, after PadImages()
  PaddedImages images_;
  Shape output_shape_;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_PLAN_H_
