// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/elementwise.cuh"

namespace millstream::cuda {
namespace {

template <typename T>
__global__ void CountUp(T start, T delta, int64_t count, T* out) {
  CUDA_FOR_EACH(i, count) {
    if constexpr (std::is_integral_v<T>) {
      // Steps may pass through values that do not fit; the results do.
      out[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
    } else {
      out[i] = start + static_cast<T>(i) * delta;
    }
  }
}

template <typename T>
StatusOr<int64_t> CountSteps(T start, T limit, T delta) {
  if (delta == 0) return errors::InvalidArgument("Requires delta != 0: ", delta);
  if (delta > 0 && !(start <= limit)) {
    return errors::InvalidArgument("Requires start <= limit when delta > 0: ", start, "/", limit);
  }
  if (delta < 0 && !(start >= limit)) {
    return errors::InvalidArgument("Requires start >= limit when delta < 0: ", start, "/", limit);
  }
  if constexpr (std::is_integral_v<T>) {
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit);
    const uint64_t distance = delta > 0 ? to - from : from - to;
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
    const uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    if (count <= static_cast<uint64_t>(INT64_MAX)) return static_cast<int64_t>(count);
  } else {
    const double count = std::ceil(std::fabs((static_cast<double>(limit) - static_cast<double>(start)) / delta));
    if (count < 9.2e18) return static_cast<int64_t>(count);
  }
  return errors::InvalidArgument("Requires ((limit - start) / delta) <= ", INT64_MAX);
}

template <typename T>
class Range final : public CudaKernel {
 public:
  explicit Range(KernelInit&) {}

  Status Issue(Call& call) override {
    static constexpr const char* kNames[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      const Tensor& t = call.input(i);
      if (t.rank() == 0 || (t.rank() == 1 && t.dim(0) == 1)) continue;
      return errors::InvalidArgument(kNames[i], " must be a scalar, not shape ", t.shape().ToString());
    }
    const T start = *call.input(0).data<T>(), limit = *call.input(1).data<T>(), delta = *call.input(2).data<T>();
    ASSIGN_OR_RETURN(const int64_t n, CountSteps<T>(start, limit, delta));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, Shape({n})));
    if (n == 0) return OkStatus();
    CountUp<<<BlocksFor(n), kThreads, 0, call.stream()>>>(start, delta, n, static_cast<T*>(out->raw()));
    return call.Launched();
  }
};

CUDA_KERNEL("Range").HostMemory("start").HostMemory("limit").HostMemory("delta").For<Range>(
    Types<float, double, int64_t>{}, "Tidx");
CUDA_HOST_KERNEL("Range").For(Types<int32_t>{}, "Tidx");
CUDA_HOST_KERNEL("LinSpace").For(Types<float, double>{});

}  // namespace
}  // namespace millstream::cuda
