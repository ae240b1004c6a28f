// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/bias_activation.h"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

template <typename D>
__device__ __forceinline__ D BiasedAndActivated(D x, D bias, math::Activation activation) {
  WideType<D> v = Widen(x) + Widen(bias);
  if (activation != math::Activation::kNone && v < WideType<D>(0)) v = 0;
  if (activation == math::Activation::kRelu6 && v > WideType<D>(6)) v = 6;
  return Narrow<D>(v);
}

template <typename D>
__global__ void BiasActivation(const D* in, const D* bias, D* out, int64_t channels, int64_t inner, int64_t count,
                               math::Activation activation) {
  CUDA_FOR_EACH(i, count) {
    int64_t rest = i;
    TakeDim(&rest, inner);
    out[i] = BiasedAndActivated(in[i], bias[TakeDim(&rest, channels)], activation);
  }
}

// Channels come last, and rows are whole numbers of groups of 16 bytes.
template <typename D>
__global__ void BiasActivationLanes(const D* in, const D* bias, D* out, int64_t row_groups, int64_t groups,
                                    math::Activation activation) {
  constexpr int n = kLanes<D>;
  CUDA_FOR_EACH(g, groups) {
    int64_t row = g;
    Lanes<D, n> x = reinterpret_cast<const Lanes<D, n>*>(in)[g];
    const Lanes<D, n> b = reinterpret_cast<const Lanes<D, n>*>(bias)[TakeDim(&row, row_groups)];
#pragma unroll
    for (int k = 0; k < n; ++k) x.lane[k] = BiasedAndActivated(x.lane[k], b.lane[k], activation);
    reinterpret_cast<Lanes<D, n>*>(out)[g] = x;
  }
}

}  // namespace

Status AddBiasAndActivate(Call& call, const Tensor& in, const Tensor& bias, math::Activation activation,
                          bool channels_first, Tensor* out) {
  const int64_t channels = bias.num_elements(), count = in.num_elements();
  if (count == 0) return OkStatus();
  const int64_t inner = channels_first ? in.shape().Product(std::min(2, in.rank()), in.rank()) : 1;
  DispatchOver(Types<Half, BFloat16, float, double, int32_t>{}, in.dtype(), [&](auto tag) {
    using D = DeviceType<typename decltype(tag)::type>;
    constexpr int n = kLanes<D>;
    const auto *x = static_cast<const D*>(in.raw()), *b = static_cast<const D*>(bias.raw());
    auto* const y = static_cast<D*>(out->raw());
    if (inner == 1 && channels % n == 0 && IsAligned(x) && IsAligned(b) && IsAligned(y)) {
      BiasActivationLanes<<<BlocksFor(count / n), kThreads, 0, call.stream()>>>(x, b, y, channels / n, count / n,
                                                                                activation);
    } else {
      BiasActivation<<<BlocksFor(count), kThreads, 0, call.stream()>>>(x, b, y, channels, inner, count, activation);
    }
  });
  return call.Launched();
}

}  // namespace millstream::cuda
