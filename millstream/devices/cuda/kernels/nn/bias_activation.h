// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_BIAS_ACTIVATION_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_BIAS_ACTIVATION_H_

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/math/gemm/gemm.h"

namespace millstream::cuda {

// out = activation(in + bias); `out` may be `in`. One bias for each of the channels, which come last or, after the
// batch, first. REQUIRES: half, bfloat16, float, double or int32.
Status AddBiasAndActivate(Call& call, const Tensor& in, const Tensor& bias, math::Activation activation,
                          bool channels_first, Tensor* out);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_BIAS_ACTIVATION_H_
