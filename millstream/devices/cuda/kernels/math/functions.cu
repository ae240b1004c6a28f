// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/pointwise.cuh"

namespace millstream::cuda {
namespace {

// Short ones work on several elements at a time.
#define DEFINE_SHORT_FUNCTION(Name, expression) \
  struct Name##Fn {                             \
    template <typename T>                       \
    __device__ T operator()(T x) const {        \
      return expression;                        \
    }                                           \
  }
#define DEFINE_FUNCTION(Name, expression) \
  struct Name##Fn {                       \
    static constexpr bool kIsLong = true; \
    template <typename T>                 \
    __device__ T operator()(T x) const {  \
      return expression;                  \
    }                                     \
  }

DEFINE_SHORT_FUNCTION(Exp, exp(x));
DEFINE_FUNCTION(Expm1, expm1(x));
DEFINE_SHORT_FUNCTION(Log, log(x));
DEFINE_FUNCTION(Log1p, log1p(x));
DEFINE_FUNCTION(Sin, sin(x));
DEFINE_FUNCTION(Cos, cos(x));
DEFINE_FUNCTION(Tan, tan(x));
DEFINE_FUNCTION(Asin, asin(x));
DEFINE_FUNCTION(Acos, acos(x));
DEFINE_FUNCTION(Atan, atan(x));
DEFINE_FUNCTION(Sinh, sinh(x));
DEFINE_FUNCTION(Cosh, cosh(x));
DEFINE_FUNCTION(Asinh, asinh(x));
DEFINE_FUNCTION(Acosh, acosh(x));
DEFINE_FUNCTION(Atanh, atanh(x));
DEFINE_SHORT_FUNCTION(Tanh, tanh(x));
DEFINE_SHORT_FUNCTION(Sigmoid, T(1) / (T(1) + exp(-x)));
DEFINE_SHORT_FUNCTION(Sqrt, sqrt(x));
DEFINE_SHORT_FUNCTION(Rsqrt, rsqrt(x));
DEFINE_SHORT_FUNCTION(Inverse, T(1) / x);
DEFINE_SHORT_FUNCTION(Floor, floor(x));
DEFINE_SHORT_FUNCTION(Ceil, ceil(x));
DEFINE_SHORT_FUNCTION(Rint, rint(x));
DEFINE_FUNCTION(Erf, erf(x));
DEFINE_FUNCTION(Erfc, erfc(x));
DEFINE_FUNCTION(Erfinv, erfinv(x));
DEFINE_FUNCTION(Ndtri, normcdfinv(x));
DEFINE_FUNCTION(Lgamma, lgamma(x));
#undef DEFINE_FUNCTION
#undef DEFINE_SHORT_FUNCTION

// Rounding leaves integers alone.
struct RoundFn {
  template <typename T>
  __device__ T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return rint(x);
    }
  }
};

#define DEFINE_GRADIENT(Name, x, y, expression) \
  struct Name##Fn {                             \
    template <typename T>                       \
    __device__ T operator()(T x, T y) const {   \
      return expression;                        \
    }                                           \
  }
#define DEFINE_FUNCTION_OF_TWO(Name, x, y, expression) \
  struct Name##Fn {                                    \
    static constexpr bool kIsLong = true;              \
    template <typename T>                              \
    __device__ T operator()(T x, T y) const {          \
      return expression;                               \
    }                                                  \
  }

// Gradients in terms of the result y and its gradient dy. Where dy is 0 the gradient is 0, also where y is not finite.
DEFINE_GRADIENT(TanhGrad, y, dy, dy*(T(1) - y * y));
DEFINE_GRADIENT(SigmoidGrad, y, dy, dy* y*(T(1) - y));
DEFINE_GRADIENT(SqrtGrad, y, dy, dy == T(0) ? T(0) : dy * T(0.5) / y);
DEFINE_GRADIENT(RsqrtGrad, y, dy, dy == T(0) ? T(0) : T(-0.5) * (dy * y) * (y * y));
DEFINE_GRADIENT(InverseGrad, y, dy, dy == T(0) ? T(0) : -dy * (y * y));
DEFINE_FUNCTION_OF_TWO(Atan2, y, x, atan2(y, x));
DEFINE_FUNCTION_OF_TWO(Pow, x, y, y == T(2) ? x * x : pow(x, y));
DEFINE_FUNCTION_OF_TWO(Xlogy, x, y, x == T(0) ? T(0) : x * log(y));
DEFINE_FUNCTION_OF_TWO(Xlog1py, x, y, x == T(0) ? T(0) : x * log1p(y));
#undef DEFINE_GRADIENT
#undef DEFINE_FUNCTION_OF_TWO

// Negative exponents are an error on the CPU; a GPU gives 0.
struct IntPowFn {
  static constexpr bool kIsLong = true;
  template <typename T>
  __device__ T operator()(T x, T y) const {
    if (y < T(0)) return T(0);
    uint64_t result = 1, base = static_cast<uint64_t>(x);
    for (auto left = static_cast<uint64_t>(y); left != 0; left >>= 1, base *= base) {
      if ((left & 1) != 0) result *= base;
    }
    return static_cast<T>(result);
  }
};

using RoundedTypes = Join<FloatTypes, Types<int64_t>>;
using SingleAndDouble = Types<float, double>;

POINTWISE_UNARY("Exp", ExpFn, FloatTypes);
POINTWISE_UNARY("Expm1", Expm1Fn, FloatTypes);
POINTWISE_UNARY("Log", LogFn, FloatTypes);
POINTWISE_UNARY("Log1p", Log1pFn, FloatTypes);
POINTWISE_UNARY("Sin", SinFn, FloatTypes);
POINTWISE_UNARY("Cos", CosFn, FloatTypes);
POINTWISE_UNARY("Tan", TanFn, FloatTypes);
POINTWISE_UNARY("Asin", AsinFn, FloatTypes);
POINTWISE_UNARY("Acos", AcosFn, FloatTypes);
POINTWISE_UNARY("Atan", AtanFn, FloatTypes);
POINTWISE_UNARY("Sinh", SinhFn, FloatTypes);
POINTWISE_UNARY("Cosh", CoshFn, FloatTypes);
POINTWISE_UNARY("Asinh", AsinhFn, FloatTypes);
POINTWISE_UNARY("Acosh", AcoshFn, FloatTypes);
POINTWISE_UNARY("Atanh", AtanhFn, FloatTypes);
POINTWISE_UNARY("Tanh", TanhFn, FloatTypes);
POINTWISE_UNARY("Sigmoid", SigmoidFn, FloatTypes);
POINTWISE_UNARY("Sqrt", SqrtFn, FloatTypes);
POINTWISE_UNARY("Rsqrt", RsqrtFn, FloatTypes);
POINTWISE_UNARY("Inv", InverseFn, FloatTypes);
POINTWISE_UNARY("Reciprocal", InverseFn, FloatTypes);
POINTWISE_UNARY("Floor", FloorFn, FloatTypes);
POINTWISE_UNARY("Ceil", CeilFn, FloatTypes);
POINTWISE_UNARY("Rint", RintFn, SingleAndDouble);
POINTWISE_UNARY("Round", RoundFn, RoundedTypes);
POINTWISE_UNARY("Erf", ErfFn, FloatTypes);
POINTWISE_UNARY("Erfc", ErfcFn, FloatTypes);
POINTWISE_UNARY("Erfinv", ErfinvFn, SingleAndDouble);
POINTWISE_UNARY("Ndtri", NdtriFn, SingleAndDouble);
POINTWISE_UNARY("Lgamma", LgammaFn, FloatTypes);

POINTWISE_PAIR("TanhGrad", TanhGradFn, FloatTypes);
POINTWISE_PAIR("SigmoidGrad", SigmoidGradFn, FloatTypes);
POINTWISE_PAIR("SqrtGrad", SqrtGradFn, FloatTypes);
POINTWISE_PAIR("RsqrtGrad", RsqrtGradFn, FloatTypes);
POINTWISE_PAIR("InvGrad", InverseGradFn, FloatTypes);
POINTWISE_PAIR("ReciprocalGrad", InverseGradFn, FloatTypes);
POINTWISE_BINARY("Atan2", Atan2Fn, FloatTypes);
POINTWISE_BINARY("Pow", PowFn, FloatTypes);
CUDA_KERNEL("Pow").For<Pointwise<IntPowFn>::Binary>(Types<int64_t>{});
POINTWISE_BINARY("Xlogy", XlogyFn, FloatTypes);
POINTWISE_BINARY("Xlog1py", Xlog1pyFn, FloatTypes);

CUDA_HOST_KERNEL("Round").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
