// SPDX-License-Identifier: Apache-2.0
// Ops that change what is known of a tensor but not its bytes, and computations on shapes.
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/device_types.h"

namespace millstream::cuda {
namespace {

#define METADATA_KERNEL(op, ...)                                 \
  CUDA_METADATA_KERNEL(op, __VA_ARGS__).For(PodTypesButInt32{}); \
  CUDA_HOST_KERNEL(op).For(Types<int32_t>{})

METADATA_KERNEL("Reshape", {"shape"});
METADATA_KERNEL("ExpandDims", {"dim"});
METADATA_KERNEL("Squeeze", {});
METADATA_KERNEL("EnsureShape", {});
CUDA_METADATA_KERNEL("Bitcast", {}).For(PodTypes{});
CUDA_METADATA_KERNEL("PlaceholderWithDefault", {}).For(PodTypes{}, "dtype");
CUDA_HOST_KERNEL("BroadcastGradientArgs").ForAll();
CUDA_HOST_KERNEL("BroadcastArgs").ForAll();
CUDA_HOST_KERNEL("InvertPermutation").ForAll();
CUDA_HOST_KERNEL("DataFormatDimMap").ForAll();
CUDA_HOST_KERNEL("DataFormatVecPermute").ForAll();

}  // namespace
}  // namespace millstream::cuda
