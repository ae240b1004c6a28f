// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_POOL_GEOMETRY_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_POOL_GEOMETRY_H_

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/ops/nn/window.h"

namespace millstream::cuda {

// A pool over images, in either data format. Passed to device code by value.
struct PoolGeometry {
  int64_t batch, channels;
  int64_t in_height, in_width, out_height, out_width;
  int64_t window_height, window_width, stride_height, stride_width, pad_top, pad_left;
  bool channels_first;

  int64_t inputs() const { return batch * channels * in_height * in_width; }
  int64_t outputs() const { return batch * channels * out_height * out_width; }
};

// The part that kernels of pools share: window and strides, from attributes or from the last two inputs.
class PoolKernel : public CudaKernel {
 protected:
  // `inputs`: the number of inputs before window and strides, where the node has those as inputs.
  PoolKernel(KernelInit& init, int inputs);

  // Unimplemented, in these words, if the window or its strides are about channels.
  Status CheckNoDepth(const Call& call, absl::string_view message) const;
  // The geometry for images of shape `input`. Unimplemented if the window spans channels.
  StatusOr<PoolGeometry> Geometry(const Call& call, const Shape& input) const;
  StatusOr<Shape> PooledShape(const PoolGeometry& g) const;
  // InvalidArgument unless `shape` is what the pool gives.
  Status CheckPooledShape(absl::string_view what, const PoolGeometry& g, const Shape& shape) const;

 private:
  StatusOr<WindowAttrs> Attrs(const Call& call) const;

  WindowAttrs attrs_;
  int sizes_at_ = -1;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_POOL_GEOMETRY_H_
