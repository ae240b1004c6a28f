// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/devices/cuda/elementwise.cuh"

namespace millstream::cuda {
namespace {

constexpr int kTermsPerLaunch = 8;

template <typename D>
struct Terms {
  const D* term[kTermsPerLaunch];
};

template <typename D>
__global__ void AddTerms(Terms<D> terms, int n, int64_t count, D* out) {
  CUDA_FOR_EACH(i, count) {
    auto sum = Widen(terms.term[0][i]);
#pragma unroll
    for (int k = 1; k < kTermsPerLaunch; ++k) {
      if (k < n) sum += Widen(terms.term[k][i]);
    }
    out[i] = Narrow<D>(sum);
  }
}

// Eight terms at a time; the sum so far is the first of the next ones.
template <typename T>
class AddN final : public CudaKernel {
 public:
  explicit AddN(KernelInit&) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    KernelContext& ctx = call.ctx();
    const int n = ctx.num_inputs();
    if (n == 1) return ctx.set_output(0, ctx.TakeInput(0)), OkStatus();
    const Shape shape = call.input(0).shape();
    for (int i = 1; i < n; ++i) {
      if (call.input(i).shape() == shape) continue;
      return errors::InvalidArgument("Inputs to operation ", ctx.node_name(), " of type ", ctx.op().name,
                                     " must have the same size and shape.  Input 0: ", shape.ToString(), " != input ",
                                     i, ": ", call.input(i).shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0, 1}, 0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    auto* const sum = static_cast<D*>(out->raw());
    for (int next = 0; next < n;) {
      Terms<D> terms = {};
      int used = 0;
      if (next > 0) terms.term[used++] = sum;
      while (used < kTermsPerLaunch && next < n) terms.term[used++] = static_cast<const D*>(call.input(next++).raw());
      AddTerms<<<BlocksFor(count), kThreads, 0, call.stream()>>>(terms, used, count, sum);
    }
    return call.Launched();
  }
};

CUDA_KERNEL("AddN").For<AddN>(Join<FloatTypes, Types<int64_t>>{});
CUDA_KERNEL("AccumulateNV2").For<AddN>(Join<FloatTypes, Types<int64_t>>{});
CUDA_HOST_KERNEL("AddN").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
