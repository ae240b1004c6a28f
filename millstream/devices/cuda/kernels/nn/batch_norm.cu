// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/kernels/nn/channel_moments.h"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/ops/nn/fused_batch_norm.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

// A channel's values become (value - center) * slope + offset.
struct ChannelMaps {
  const float *center, *slope, *offset;
};

template <typename D>
__global__ void MomentsOfParts(const D* x, const float* sums, int64_t parts, NormView v, float factor,
                               const float* mean_before, const float* variance_before, float* mean_after,
                               float* variance_after, float* mean, float* variance) {
  const auto n = static_cast<double>(v.outer * v.inner);
  CUDA_FOR_EACH(c, v.channels) {
    double sum = 0, squares = 0;
    for (int64_t p = 0; p < parts; ++p) {
      sum += static_cast<double>(sums[p * 2 * v.channels + c]);
      squares += static_cast<double>(sums[(p * 2 + 1) * v.channels + c]);
    }
    const double shift = sum / n;
    double spread = squares / n - shift * shift;
    if (spread < 0) spread = 0;  // NaN stays
    const auto m = static_cast<float>(static_cast<double>(Widen(x[c * v.inner])) + shift);
    const auto unbiased = static_cast<float>(n > 1 ? spread * (n / (n - 1)) : spread);
    mean[c] = m;
    variance[c] = static_cast<float>(spread);
    mean_after[c] = factor == 1.0f ? m : (1 - factor) * mean_before[c] + factor * m;
    variance_after[c] = factor == 1.0f ? unbiased : (1 - factor) * variance_before[c] + factor * unbiased;
  }
}

__global__ void NormSlopes(const float* scale, const float* variance, float epsilon, int64_t channels, float* slope) {
  CUDA_FOR_EACH(c, channels) { slope[c] = scale[c] / sqrtf(variance[c] + epsilon); }
}

template <typename D, int n>
__global__ void NormalizeAll(ChannelMaps maps, const D* x, D* y, int64_t channels, int64_t inner, int64_t groups) {
  CUDA_FOR_EACH(g, groups) {
    int64_t rest = g;
    if (n == 1) TakeDim(&rest, inner);
    const int64_t c = TakeDim(&rest, channels / n) * n;
    Lanes<D, n> values = reinterpret_cast<const Lanes<D, n>*>(x)[g];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      values.lane[k] = Narrow<D>((Widen(values.lane[k]) - maps.center[c + k]) * maps.slope[c + k] + maps.offset[c + k]);
    }
    reinterpret_cast<Lanes<D, n>*>(y)[g] = values;
  }
}

// dx = slope * (dy - mean_dy - (x - mean) * mean_product), with the last two zero where mean and variance did not come
// from this batch.
struct GradientMaps {
  const float *mean, *slope, *mean_dy, *mean_product;
};

__global__ void GradientSums(const float* sums, int64_t parts, NormView v, float epsilon, bool training,
                             const float* scale, const float* variance, float* dscale, float* doffset, float* slope,
                             float* mean_dy, float* mean_product) {
  const auto n = static_cast<double>(v.outer * v.inner);
  CUDA_FOR_EACH(c, v.channels) {
    double sum = 0, products = 0;
    for (int64_t p = 0; p < parts; ++p) {
      sum += static_cast<double>(sums[p * 2 * v.channels + c]);
      products += static_cast<double>(sums[(p * 2 + 1) * v.channels + c]);
    }
    const double spread = static_cast<double>(variance[c]) + static_cast<double>(epsilon);
    dscale[c] = static_cast<float>(products / sqrt(spread));
    doffset[c] = static_cast<float>(sum);
    slope[c] = static_cast<float>(static_cast<double>(scale[c]) / sqrt(spread));
    mean_dy[c] = training ? static_cast<float>(sum / n) : 0.0f;
    mean_product[c] = training ? static_cast<float>(products / n / spread) : 0.0f;
  }
}

template <typename D, int n>
__global__ void GradientAll(GradientMaps maps, const D* dy, const D* x, D* dx, int64_t channels, int64_t inner,
                            int64_t groups) {
  CUDA_FOR_EACH(g, groups) {
    int64_t rest = g;
    if (n == 1) TakeDim(&rest, inner);
    const int64_t c = TakeDim(&rest, channels / n) * n;
    const Lanes<D, n> grads = reinterpret_cast<const Lanes<D, n>*>(dy)[g];
    Lanes<D, n> values = reinterpret_cast<const Lanes<D, n>*>(x)[g];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      values.lane[k] =
          Narrow<D>(maps.slope[c + k] * (Widen(grads.lane[k]) - maps.mean_dy[c + k] -
                                         (Widen(values.lane[k]) - maps.mean[c + k]) * maps.mean_product[c + k]));
    }
    reinterpret_cast<Lanes<D, n>*>(dx)[g] = values;
  }
}

template <typename D>
bool HasNormLanes(const NormView& v, const void* a, const void* b, const void* c) {
  return v.inner == 1 && v.channels % kLanes<D> == 0 && IsAligned(a) && IsAligned(b) && IsAligned(c);
}

const float* Floats(const Tensor& t) { return static_cast<const float*>(t.raw()); }
float* Floats(Tensor* t) { return static_cast<float*>(t->raw()); }

using NormTypes = Types<Half, BFloat16, float>;

class FusedBatchNormCuda final : public CudaKernel {
 public:
  explicit FusedBatchNormCuda(KernelInit& init)
      : epsilon_(init.Attr<float>("epsilon")),
        factor_(init.Attr<float>("exponential_avg_factor")),
        format_(init.Attr<std::string>("data_format")),
        training_(init.Attr<bool>("is_training")) {}

  Status Issue(Call& call) override {
    const Tensor& x = call.input(0);
    ASSIGN_OR_RETURN(const NormView v, ViewForNorm(x.shape(), format_));
    RETURN_IF_ERROR(CheckNormInputs(v, call.input(1), call.input(2), call.input(3), call.input(4), NeedsEstimates()));
    ASSIGN_OR_RETURN(Tensor * y, call.Output(0, x.shape()));
    Tensor* stats[4];  // mean and variance to hand on, then those for the gradient
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(stats[i], call.Output(i + 1, Shape({v.channels})));
    }
    if (call.ctx().num_outputs() > 5) {
      ASSIGN_OR_RETURN(Tensor * reserved, call.Output(5, Shape()));
      RETURN_IF_ERROR(FillZero(call, reserved));
    }
    if (v.channels == 0) return OkStatus();
    if (x.num_elements() == 0) {
      const float nan = std::nanf("");
      for (Tensor* t : stats) RETURN_IF_ERROR(FillFromHost(call, &nan, t));
      return OkStatus();
    }
    RETURN_IF_ERROR(training_ ? MeasureMoments(call, v, x, stats) : CopyEstimates(call, stats));
    return Normalize(call, v, x, *stats[2], *stats[3], y);
  }

 private:
  bool NeedsEstimates() const { return !training_ || factor_ != 1.0f; }

  Status MeasureMoments(Call& call, const NormView& v, const Tensor& x, Tensor* const (&stats)[4]) const {
    ASSIGN_OR_RETURN(const ChannelSums sums, SumChannelMoments(call, v, x));
    DispatchOver(NormTypes{}, x.dtype(), [&](auto tag) {
      using D = DeviceType<typename decltype(tag)::type>;
      MomentsOfParts<<<BlocksFor(v.channels), kThreads, 0, call.stream()>>>(
          static_cast<const D*>(x.raw()), Floats(sums.sums), sums.parts, v, factor_, Floats(call.input(3)),
          Floats(call.input(4)), Floats(stats[0]), Floats(stats[1]), Floats(stats[2]), Floats(stats[3]));
    });
    return call.Launched();
  }

  static Status CopyEstimates(Call& call, Tensor* const (&stats)[4]) {
    for (int i = 0; i < 4; ++i) {
      RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(stats[i]->raw(), call.input(3 + i % 2).raw(), stats[i]->ByteSize(),
                                           cudaMemcpyDeviceToDevice, call.stream()));
    }
    return OkStatus();
  }

  Status Normalize(Call& call, const NormView& v, const Tensor& x, const Tensor& mean, const Tensor& variance,
                   Tensor* y) const {
    ASSIGN_OR_RETURN(Tensor slope, call.Temp(DType::kFloat, Shape({v.channels})));
    NormSlopes<<<BlocksFor(v.channels), kThreads, 0, call.stream()>>>(Floats(call.input(1)), Floats(variance), epsilon_,
                                                                      v.channels, Floats(&slope));
    const ChannelMaps maps = {Floats(mean), Floats(slope), Floats(call.input(2))};
    const int64_t count = x.num_elements();
    DispatchOver(NormTypes{}, x.dtype(), [&](auto tag) {
      using D = DeviceType<typename decltype(tag)::type>;
      constexpr int n = kLanes<D>;
      const auto* const from = static_cast<const D*>(x.raw());
      auto* const to = static_cast<D*>(y->raw());
      if (HasNormLanes<D>(v, from, to, nullptr)) {
        NormalizeAll<D, n>
            <<<BlocksFor(count / n), kThreads, 0, call.stream()>>>(maps, from, to, v.channels, 1, count / n);
      } else {
        NormalizeAll<D, 1>
            <<<BlocksFor(count), kThreads, 0, call.stream()>>>(maps, from, to, v.channels, v.inner, count);
      }
    });
    return call.Launched();
  }

  const float epsilon_, factor_;
  const std::string format_;
  const bool training_;
};

class FusedBatchNormGradCuda final : public CudaKernel {
 public:
  explicit FusedBatchNormGradCuda(KernelInit& init)
      : epsilon_(init.Attr<float>("epsilon")),
        format_(init.Attr<std::string>("data_format")),
        training_(init.Attr<bool>("is_training")) {}

  Status Issue(Call& call) override {
    const Tensor &dy = call.input(0), &x = call.input(1), &mean = call.input(3);
    ASSIGN_OR_RETURN(const NormView v, ViewForNorm(x.shape(), format_));
    RETURN_IF_ERROR(CheckNormGradInputs(v, dy, x, call.input(2), mean, call.input(4)));
    ASSIGN_OR_RETURN(Tensor * dx, call.Output(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor * dscale, call.Output(1, Shape({v.channels})));
    ASSIGN_OR_RETURN(Tensor * doffset, call.Output(2, Shape({v.channels})));
    for (int i = 3; i < 5; ++i) RETURN_IF_ERROR(call.Output(i, Shape({0})).status());
    if (x.num_elements() == 0) {
      RETURN_IF_ERROR(FillZero(call, dscale));
      return FillZero(call, doffset);
    }
    ASSIGN_OR_RETURN(const ChannelSums sums, SumChannelProducts(call, v, x, dy, mean));
    ASSIGN_OR_RETURN(Tensor maps, call.Temp(DType::kFloat, Shape({3, v.channels})));
    float* const slope = Floats(&maps);
    float *const mean_dy = slope + v.channels, *const mean_product = mean_dy + v.channels;
    GradientSums<<<BlocksFor(v.channels), kThreads, 0, call.stream()>>>(
        Floats(sums.sums), sums.parts, v, epsilon_, training_, Floats(call.input(2)), Floats(call.input(4)),
        Floats(dscale), Floats(doffset), slope, mean_dy, mean_product);
    return Spread(call, v, {Floats(mean), slope, mean_dy, mean_product}, dy, x, dx);
  }

 private:
  static Status Spread(Call& call, const NormView& v, const GradientMaps& maps, const Tensor& dy, const Tensor& x,
                       Tensor* dx) {
    const int64_t count = x.num_elements();
    DispatchOver(NormTypes{}, x.dtype(), [&](auto tag) {
      using D = DeviceType<typename decltype(tag)::type>;
      constexpr int n = kLanes<D>;
      const auto *grads = static_cast<const D*>(dy.raw()), *from = static_cast<const D*>(x.raw());
      auto* const to = static_cast<D*>(dx->raw());
      if (HasNormLanes<D>(v, grads, from, to)) {
        GradientAll<D, n>
            <<<BlocksFor(count / n), kThreads, 0, call.stream()>>>(maps, grads, from, to, v.channels, 1, count / n);
      } else {
        GradientAll<D, 1>
            <<<BlocksFor(count), kThreads, 0, call.stream()>>>(maps, grads, from, to, v.channels, v.inner, count);
      }
    });
    return call.Launched();
  }

  const float epsilon_;
  const std::string format_;
  const bool training_;
};

CUDA_KERNEL("FusedBatchNorm").ClassFor<FusedBatchNormCuda>(Types<float>{});
CUDA_KERNEL("FusedBatchNormV2").ClassFor<FusedBatchNormCuda>(NormTypes{});
CUDA_KERNEL("FusedBatchNormV3").ClassFor<FusedBatchNormCuda>(Types<float>{}, "U");
CUDA_KERNEL("FusedBatchNormGrad").ClassFor<FusedBatchNormGradCuda>(Types<float>{});
CUDA_KERNEL("FusedBatchNormGradV2").ClassFor<FusedBatchNormGradCuda>(NormTypes{});
CUDA_KERNEL("FusedBatchNormGradV3").ClassFor<FusedBatchNormGradCuda>(NormTypes{});

}  // namespace
}  // namespace millstream::cuda
