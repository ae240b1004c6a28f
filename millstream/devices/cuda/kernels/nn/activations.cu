// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/pointwise.cuh"

namespace millstream::cuda {
namespace {

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

// The comparisons are such that NaN stays NaN.
struct ReluFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct Relu6Fn {
  template <typename T>
  __device__ T operator()(T x) const {
    const T low = x < T(0) ? T(0) : x;
    return low > T(6) ? T(6) : low;
  }
};
// Multiplies, so that infinite and undefined gradients do not vanish silently.
struct ReluGradFn {
  template <typename T>
  __device__ T operator()(T dy, T x) const {
    return static_cast<T>(dy * (x > T(0) ? T(1) : T(0)));
  }
};
struct Relu6GradFn {
  template <typename T>
  __device__ T operator()(T dy, T x) const {
    return static_cast<T>(dy * (x > T(0) && x < T(6) ? T(1) : T(0)));
  }
};
struct LeakyReluFn {
  explicit LeakyReluFn(KernelInit& init) : alpha(init.Attr<float>("alpha")) {}
  float alpha;
  template <typename T>
  __device__ T operator()(T x) const {
    return x > T(0) ? x : x * T(alpha);
  }
  template <typename T>
  __device__ T operator()(T dy, T x) const {
    return x > T(0) ? dy : dy * T(alpha);
  }
};
struct EluFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return x < T(0) ? expm1(x) : x;
  }
};
struct EluGradFn {
  template <typename T>
  __device__ T operator()(T dy, T y) const {
    return y < T(0) ? (y + T(1)) * dy : dy;
  }
};
struct SeluFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return x < T(0) ? T(kSeluScaleAlpha) * expm1(x) : T(kSeluScale) * x;
  }
};
struct SeluGradFn {
  template <typename T>
  __device__ T operator()(T dy, T y) const {
    return dy * (y < T(0) ? y + T(kSeluScaleAlpha) : T(kSeluScale));
  }
};
// log(1 + exp(x)), in the form whose exponential cannot overflow.
struct SoftplusFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return (x < T(0) ? T(0) : x) + log1p(exp(-fabs(x)));
  }
};
struct SoftplusGradFn {
  template <typename T>
  __device__ T operator()(T dy, T x) const {
    return dy / (exp(-x) + T(1));
  }
};
struct SoftsignFn {
  template <typename T>
  __device__ T operator()(T x) const {
    return x / (fabs(x) + T(1));
  }
};
struct SoftsignGradFn {
  template <typename T>
  __device__ T operator()(T dy, T x) const {
    const T d = fabs(x) + T(1);
    return dy / (d * d);
  }
};

using ReluTypes = Join<FloatTypes, SignedTypes>;

POINTWISE_UNARY("Relu", ReluFn, ReluTypes);
POINTWISE_UNARY("Relu6", Relu6Fn, ReluTypes);
POINTWISE_PAIR("ReluGrad", ReluGradFn, ReluTypes);
POINTWISE_PAIR("Relu6Grad", Relu6GradFn, ReluTypes);
POINTWISE_UNARY("LeakyRelu", LeakyReluFn, FloatTypes);
POINTWISE_PAIR("LeakyReluGrad", LeakyReluFn, FloatTypes);
POINTWISE_UNARY("Elu", EluFn, FloatTypes);
POINTWISE_PAIR("EluGrad", EluGradFn, FloatTypes);
POINTWISE_UNARY("Selu", SeluFn, FloatTypes);
POINTWISE_PAIR("SeluGrad", SeluGradFn, FloatTypes);
POINTWISE_UNARY("Softplus", SoftplusFn, FloatTypes);
POINTWISE_PAIR("SoftplusGrad", SoftplusGradFn, FloatTypes);
POINTWISE_UNARY("Softsign", SoftsignFn, FloatTypes);
POINTWISE_PAIR("SoftsignGrad", SoftsignGradFn, FloatTypes);

}  // namespace
}  // namespace millstream::cuda
