// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_INDEX_ARRAY_CUH_
#define MILLSTREAM_DEVICES_CUDA_INDEX_ARRAY_CUH_

#include <cstdint>

#include "millstream/tensor/tensor.h"

namespace millstream::cuda {

// Integers of any type in device memory. The type is looked at for each element (all threads take the same branch), so
// that device code need not be made for each type of indices.
class IndexArray {
 public:
  explicit IndexArray(const Tensor& t) : data_(t.raw()), dtype_(t.dtype()) {}

  __device__ __forceinline__ int64_t operator[](int64_t i) const {
    switch (dtype_) {
      case DType::kInt32:
        return static_cast<const int32_t*>(data_)[i];
      case DType::kInt64:
        return static_cast<const int64_t*>(data_)[i];
      case DType::kInt16:
        return static_cast<const int16_t*>(data_)[i];
      case DType::kInt8:
        return static_cast<const int8_t*>(data_)[i];
      default:
        return static_cast<const uint8_t*>(data_)[i];
    }
  }

 private:
  const void* data_;
  DType dtype_;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_INDEX_ARRAY_CUH_
