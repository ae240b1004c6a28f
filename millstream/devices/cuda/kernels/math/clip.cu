// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"

namespace millstream::cuda {
namespace {

// Bounds are of the shape of the values, or one for all. NaN stays.
template <typename D>
__global__ void ClipAll(const D* x, const D* low, int low_step, const D* high, int high_step, int64_t count, D* out) {
  CUDA_FOR_EACH(i, count) {
    const auto l = Widen(low[i * low_step]), h = Widen(high[i * high_step]);
    auto v = Widen(x[i]);
    v = v > h ? h : v;
    out[i] = Narrow<D>(v < l ? l : v);
  }
}

template <typename T>
class Clip final : public CudaKernel {
 public:
  explicit Clip(KernelInit&) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &t = call.input(0), &low = call.input(1), &high = call.input(2);
    const auto fits = [&](const Tensor& bound) { return bound.rank() == 0 || bound.shape() == t.shape(); };
    if (!fits(low) || !fits(high)) {
      return errors::InvalidArgument("clip_value_min and clip_value_max must be either of the same shape as input, or ",
                                     "a scalar. input shape: ", t.shape().ToString(),
                                     "clip_value_min shape: ", low.shape().ToString(),
                                     "clip_value_max shape: ", high.shape().ToString());
    }
    const int64_t count = t.num_elements();
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, t.shape()));
    if (count == 0) return OkStatus();
    ClipAll<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
        static_cast<const D*>(t.raw()), static_cast<const D*>(low.raw()), low.rank() == 0 ? 0 : 1,
        static_cast<const D*>(high.raw()), high.rank() == 0 ? 0 : 1, count, static_cast<D*>(out->raw()));
    return call.Launched();
  }
};

CUDA_KERNEL("ClipByValue").For<Clip>(Join<FloatTypes, Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t>>{});

}  // namespace
}  // namespace millstream::cuda
