// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/pointwise.cuh"

namespace millstream::cuda {
namespace {

// All of RealTypes but int32, which stays on the host.
using ArithmeticTypes = Join<FloatTypes, Types<int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>>;
using AddTypes = Join<FloatTypes, Types<int8_t, int16_t, int64_t, uint8_t>>;
using FloatAndInt64 = Join<FloatTypes, Types<int64_t>>;
using SignedArithmetic = Join<FloatTypes, Types<int8_t, int16_t, int64_t>>;
using Int32Only = Types<int32_t>;

struct AddFn {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct SubFn {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct MulFn {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct MulNoNanFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return y == T(0) ? T(0) : x * y;
  }
};
struct SquaredDifferenceFn {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    const T d = a - b;
    return d * d;
  }
};
// NaN in either operand gives NaN.
struct MaximumFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return x != x ? x : x > y ? x : y;
  }
};
struct MinimumFn {
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return x != x ? x : x < y ? x : y;
  }
};
struct SquareFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return static_cast<T>(x * x);
  }
};
struct NegFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return static_cast<T>(-x);
  }
};
struct AbsFn {
  template <typename T>
  __device__ T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return fabs(x);
    } else {
      return static_cast<T>(x < 0 ? -x : x);
    }
  }
};
struct SignFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0)));
  }
};

POINTWISE_BINARY("Add", AddFn, AddTypes);
POINTWISE_BINARY("AddV2", AddFn, ArithmeticTypes);
POINTWISE_BINARY("Sub", SubFn, ArithmeticTypes);
POINTWISE_BINARY("Mul", MulFn, ArithmeticTypes);
POINTWISE_BINARY("MulNoNan", MulNoNanFn, FloatTypes);
POINTWISE_BINARY("SquaredDifference", SquaredDifferenceFn, FloatAndInt64);
POINTWISE_BINARY("Maximum", MaximumFn, ArithmeticTypes);
POINTWISE_BINARY("Minimum", MinimumFn, ArithmeticTypes);
POINTWISE_UNARY("Square", SquareFn, FloatAndInt64);
POINTWISE_UNARY("Neg", NegFn, SignedArithmetic);
POINTWISE_UNARY("Abs", AbsFn, SignedArithmetic);
POINTWISE_UNARY("Sign", SignFn, SignedArithmetic);

CUDA_HOST_KERNEL("Add").For(Int32Only{});
CUDA_HOST_KERNEL("AddV2").For(Int32Only{});
CUDA_HOST_KERNEL("Sub").For(Int32Only{});
CUDA_HOST_KERNEL("Mul").For(Int32Only{});
CUDA_HOST_KERNEL("SquaredDifference").For(Int32Only{});
CUDA_HOST_KERNEL("Maximum").For(Int32Only{});
CUDA_HOST_KERNEL("Minimum").For(Int32Only{});
CUDA_HOST_KERNEL("Square").For(Int32Only{});
CUDA_HOST_KERNEL("Neg").For(Int32Only{});
CUDA_HOST_KERNEL("Abs").For(Int32Only{});
CUDA_HOST_KERNEL("Sign").For(Int32Only{});

}  // namespace
}  // namespace millstream::cuda
