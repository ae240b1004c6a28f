// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_DIRECT_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_DIRECT_H_

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/math/conv/conv.h"

namespace millstream::cuda {

// What follows a convolution: a bias for each channel (null: none), then an activation.
struct ConvFollowers {
  const Tensor* bias = nullptr;
  math::Activation activation = math::Activation::kNone;
};

// Convolutions of doubles by one thread for each element of the result, in TensorFlow's layout of filters and either
// layout of images.
Status DirectForward(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& x, const Tensor& w,
                     Tensor* y);
Status DirectBackwardInput(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& w, const Tensor& dy,
                           Tensor* dx);
Status DirectBackwardFilter(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& x,
                            const Tensor& dy, Tensor* dw);

// Convolutions of floats with one or two input channels (grey images), which fill a hundredth of cuDNN's tiles.
// Channels come last.
bool HasFewChannels(const math::ConvShape& s, DType dtype, bool channels_first);
Status FewChannelsForward(Call& call, const math::ConvShape& s, const Tensor& x, const Tensor& w,
                          const ConvFollowers& followers, Tensor* y);
Status FewChannelsBackwardFilter(Call& call, const math::ConvShape& s, const Tensor& x, const Tensor& dy, Tensor* dw);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_DIRECT_H_
