// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_TYPES_CUH_
#define MILLSTREAM_DEVICES_CUDA_TYPES_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "millstream/tensor/dtype.h"

namespace millstream::cuda {

// The type that device code uses for elements of type T of the host: __half for Half, __nv_bfloat16 for BFloat16, T
// itself otherwise.
template <typename T>
struct DeviceTypeOf {
  using type = T;
};
template <>
struct DeviceTypeOf<Half> {
  using type = __half;
};
template <>
struct DeviceTypeOf<BFloat16> {
  using type = __nv_bfloat16;
};
template <typename T>
using DeviceType = typename DeviceTypeOf<T>::type;

// The type in which device code computes with elements of device type D: float for the 16-bit floats.
template <typename D>
struct WideTypeOf {
  using type = D;
};
template <>
struct WideTypeOf<__half> {
  using type = float;
};
template <>
struct WideTypeOf<__nv_bfloat16> {
  using type = float;
};
template <typename D>
using WideType = typename WideTypeOf<D>::type;

template <typename D>
__device__ __forceinline__ WideType<D> Widen(D x) {
  if constexpr (std::is_same_v<D, __half>) {
    return __half2float(x);
  } else if constexpr (std::is_same_v<D, __nv_bfloat16>) {
    return __bfloat162float(x);
  } else {
    return x;
  }
}
// Rounds to nearest even.
template <typename D, typename W>
__device__ __forceinline__ D Narrow(W x) {
  if constexpr (std::is_same_v<D, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<D, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return static_cast<D>(x);
  }
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_TYPES_CUH_
