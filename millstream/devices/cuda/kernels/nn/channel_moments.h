// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CHANNEL_MOMENTS_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CHANNEL_MOMENTS_H_

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/ops/nn/channel_sums.h"

namespace millstream::cuda {

// Two sums for each channel of images: `parts` rows of channels, one after the other, each with the first sum of all
// channels and then the second. The order of additions depends on the shape alone.
struct ChannelSums {
  Tensor sums;  // [parts, 2, channels], float
  int64_t parts = 0;
};

// Sums of x - x0 and of its square, where x0 is the first value of the channel: squares of values that lie far from
// zero would lose the digits in which they differ.
StatusOr<ChannelSums> SumChannelMoments(Call& call, const NormView& v, const Tensor& x);
// Sums of dy and of dy * (x - mean).
StatusOr<ChannelSums> SumChannelProducts(Call& call, const NormView& v, const Tensor& x, const Tensor& dy,
                                         const Tensor& mean);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CHANNEL_MOMENTS_H_
