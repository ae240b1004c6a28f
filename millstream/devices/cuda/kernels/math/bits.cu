// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/pointwise.cuh"

namespace millstream::cuda {
namespace {

struct BitAndFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return static_cast<T>(x & y);
  }
};
struct BitOrFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return static_cast<T>(x | y);
  }
};
struct BitXorFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return static_cast<T>(x ^ y);
  }
};
struct BitInvertFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
// Distances outside the width of the type are brought to its border.
template <typename T>
__device__ int ShiftDistance(T y) {
  constexpr int kLast = 8 * sizeof(T) - 1;
  if (y < T(0)) return 0;
  return y > T(kLast) ? kLast : static_cast<int>(y);
}
struct LeftShiftFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << ShiftDistance(y));
  }
};
struct RightShiftFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return static_cast<T>(x >> ShiftDistance(y));
  }
};

// The bits are the same with and without a sign.
template <typename Fn>
struct Bitwise {
  template <typename T>
  using Unary = PointwiseUnaryKernel<Fn, std::make_unsigned_t<T>>;
  template <typename T>
  using Binary = PointwiseBinaryKernel<Fn, std::make_unsigned_t<T>>;
};

CUDA_KERNEL("BitwiseAnd").For<Bitwise<BitAndFn>::Binary>(IntTypes{});
CUDA_KERNEL("BitwiseOr").For<Bitwise<BitOrFn>::Binary>(IntTypes{});
CUDA_KERNEL("BitwiseXor").For<Bitwise<BitXorFn>::Binary>(IntTypes{});
CUDA_KERNEL("Invert").For<Bitwise<BitInvertFn>::Unary>(IntTypes{});
POINTWISE_BINARY("LeftShift", LeftShiftFn, IntTypes);
POINTWISE_BINARY("RightShift", RightShiftFn, IntTypes);

}  // namespace
}  // namespace millstream::cuda
