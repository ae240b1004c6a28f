// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"

namespace millstream::cuda {
namespace {

struct LrnSettings {
  int64_t radius;
  float bias, alpha, beta;
  explicit LrnSettings(KernelInit& init)
      : radius(init.Attr<int64_t>("depth_radius")),
        bias(init.Attr<float>("bias")),
        alpha(init.Attr<float>("alpha")),
        beta(init.Attr<float>("beta")) {
    if (radius < 0) init.Fail(errors::InvalidArgument("depth_radius must not be negative: ", radius));
    if (radius > INT32_MAX) init.Fail(errors::InvalidArgument("depth_radius = ", radius, " larger than int max"));
  }
};

// bias + alpha * the sum of squares of the channels around `c`.
template <typename D>
__device__ float NormAt(const D* pixel, int64_t c, int64_t depth, const LrnSettings& s) {
  float sum = 0;
  for (int64_t k = max(c - s.radius, int64_t{0}); k <= min(c + s.radius, depth - 1); ++k) {
    const float x = Widen(pixel[k]);
    sum += x * x;
  }
  return s.bias + s.alpha * sum;
}

template <typename D>
__global__ void NormalizeResponses(LrnSettings s, const D* in, D* out, int64_t depth, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const int64_t c = i % depth;
    out[i] = Narrow<D>(Widen(in[i]) * powf(NormAt(in + (i - c), c, depth, s), -s.beta));
  }
}

template <typename D>
__global__ void NormalizeResponsesGrad(LrnSettings s, const D* dy, const D* in, const D* result, D* dx, int64_t depth,
                                       int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const int64_t c = i % depth, base = i - c;
    const float factor = -2.0f * s.alpha * s.beta;
    float shares = 0;
    for (int64_t k = max(c - s.radius, int64_t{0}); k <= min(c + s.radius, depth - 1); ++k) {
      shares += factor * Widen(result[base + k]) / NormAt(in + base, k, depth, s) * Widen(dy[base + k]);
    }
    dx[i] = Narrow<D>(shares * Widen(in[i]) + powf(NormAt(in + base, c, depth, s), -s.beta) * Widen(dy[i]));
  }
}

template <typename T>
class Lrn final : public CudaKernel {
 public:
  explicit Lrn(KernelInit& init) : settings_(init) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& in = call.input(0);
    if (in.rank() != 4) {
      return errors::InvalidArgument("in must be 4-dimensional, got shape ", in.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, in.shape()));
    const int64_t count = in.num_elements();
    if (count == 0) return OkStatus();
    NormalizeResponses<<<BlocksFor(count), kThreads, 0, call.stream()>>>(settings_, static_cast<const D*>(in.raw()),
                                                                         static_cast<D*>(out->raw()), in.dim(3), count);
    return call.Launched();
  }

 private:
  const LrnSettings settings_;
};

template <typename T>
class LrnGrad final : public CudaKernel {
 public:
  explicit LrnGrad(KernelInit& init) : settings_(init) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &dy = call.input(0), &in = call.input(1), &result = call.input(2);
    if (dy.rank() != 4 || !(in.shape() == dy.shape()) || !(result.shape() == dy.shape())) {
      return errors::InvalidArgument(
          "input_grads, input_image and output_image should have the same shape of rank 4, got ", dy.shape().ToString(),
          ", ", in.shape().ToString(), " and ", result.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, dy.shape()));
    const int64_t count = dy.num_elements();
    if (count == 0) return OkStatus();
    NormalizeResponsesGrad<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
        settings_, static_cast<const D*>(dy.raw()), static_cast<const D*>(in.raw()),
        static_cast<const D*>(result.raw()), static_cast<D*>(out->raw()), dy.dim(3), count);
    return call.Launched();
  }

 private:
  const LrnSettings settings_;
};

CUDA_KERNEL("LRN").For<Lrn>(Types<Half, float>{});
CUDA_KERNEL("LRNGrad").For<LrnGrad>(Types<Half, float>{});

}  // namespace
}  // namespace millstream::cuda
