// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_LAYOUT_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_LAYOUT_H_

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/math/conv/conv.h"

namespace millstream::cuda {

// TensorFlow's filters are [height, width, in, out]; cuDNN wants the output channels first, and the rest in the order
// of the images: [out, height, width, in], or [out, in, height, width] if channels come first. Elements are of 2, 4
// or 8 bytes.
Status FilterToCudnn(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& filter, Tensor* to);
Status FilterFromCudnn(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& from, Tensor* filter);
// The filter whose convolution is the gradient of the images: [in, height, width, out] (or [in, out, height, width]),
// mirrored in height and width.
Status MirrorFilter(Call& call, const math::ConvShape& s, bool channels_first, const Tensor& filter, Tensor* to);

// Images with `extra` rows and columns of zeros below and to the right, and back. Where cuDNN cannot pad unevenly.
struct PaddedImages {
  int64_t outer = 1;              // batch, or batch and channels
  int64_t height = 1, width = 1;  // without padding
  int64_t padded_height = 1, padded_width = 1;
  int64_t top = 0, left = 0;
  int64_t inner = 1;  // channels, or 1
};
Status PadImages(Call& call, const PaddedImages& p, const Tensor& from, Tensor* to);
Status CropImages(Call& call, const PaddedImages& p, const Tensor& from, Tensor* to);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_LAYOUT_H_
