// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_LINALG_PRODUCT_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_LINALG_PRODUCT_H_

#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// c = op(a) op(b), row-major, `batch` times. Strides are the distances between matrices, in elements.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool conjugate_a = false, conjugate_b = false;  // with the transposition of the same operand
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};

// 16-bit floats are summed up in float; float products use TF32 as TensorFlow does. REQUIRES: one type, a float or
// complex one; `c` is allocated.
Status Multiply(Call& call, const Product& product, const Tensor& a, const Tensor& b, Tensor* c);
// The same with addresses, for batches that are not evenly spaced.
Status MultiplyAt(Call& call, const Product& product, DType dtype, const void* a, const void* b, void* c);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_LINALG_PRODUCT_H_
