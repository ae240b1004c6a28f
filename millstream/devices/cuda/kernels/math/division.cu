// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/pointwise.cuh"

namespace millstream::cuda {
namespace {

// A divisor of 0 is an error on the CPU. A GPU cannot report it in time: the result is -1 (all bits), as the hardware
// of TensorFlow's GPUs gives.
template <typename T>
__device__ T Quotient(T x, T y) {
  if (y == T(0)) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));  // the lowest value stays
  }
  return static_cast<T>(x / y);
}
template <typename T>
__device__ T Remainder(T x, T y) {
  if (y == T(0)) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return T(0);
  }
  return static_cast<T>(x % y);
}

struct DivideFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      return Quotient(x, y);
    } else {
      return x / y;
    }
  }
};
struct TruncateDivFn {
  static constexpr bool kIsLong = true;
  template <typename T>
  __device__ T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      return Quotient(x, y);
    } else {
      return trunc(x / y);
    }
  }
};
struct FloorDivFn {
  static constexpr bool kIsLong = true;
  template <typename T>
  __device__ T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      const T q = Quotient(x, y);
      if (y == T(0)) return q;
      const T r = Remainder(x, y);
      return static_cast<T>(r != T(0) && (r < T(0)) != (y < T(0)) ? q - 1 : q);
    } else {
      return floor(x / y);
    }
  }
};
struct FloorModFn {
  static constexpr bool kIsLong = true;
  template <typename T>
  __device__ T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      const T r = Remainder(x, y);
      if (y == T(0)) return r;
      return static_cast<T>(r != T(0) && (r < T(0)) != (y < T(0)) ? r + y : r);
    } else {
      const T r = fmod(x, y);
      return r != T(0) && (r < T(0)) != (y < T(0)) ? r + y : r;
    }
  }
};
struct DivNoNanFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return y == T(0) ? T(0) : x / y;
  }
};
struct XdivyFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return x == T(0) ? T(0) : x / y;
  }
};

using DivisionTypes = Join<FloatTypes, Types<int16_t, int64_t, uint8_t, uint16_t>>;
using ModTypes = Join<FloatTypes, Types<int64_t>>;
using Int64Division = Types<int16_t, int64_t>;
using HostDivision = Types<int32_t>;

POINTWISE_BINARY("RealDiv", DivideFn, FloatTypes);
POINTWISE_BINARY("Div", DivideFn, DivisionTypes);
POINTWISE_BINARY("TruncateDiv", TruncateDivFn, Int64Division);
POINTWISE_BINARY("FloorDiv", FloorDivFn, DivisionTypes);
POINTWISE_BINARY("FloorMod", FloorModFn, ModTypes);
POINTWISE_BINARY("DivNoNan", DivNoNanFn, FloatTypes);
POINTWISE_BINARY("Xdivy", XdivyFn, FloatTypes);

CUDA_HOST_KERNEL("Div").For(HostDivision{});
CUDA_HOST_KERNEL("TruncateDiv").For(HostDivision{});
CUDA_HOST_KERNEL("FloorDiv").For(HostDivision{});
CUDA_HOST_KERNEL("FloorMod").For(HostDivision{});
CUDA_HOST_KERNEL("Mod").For(IndexTypes{});
CUDA_HOST_KERNEL("TruncateMod").For(IndexTypes{});

}  // namespace
}  // namespace millstream::cuda
