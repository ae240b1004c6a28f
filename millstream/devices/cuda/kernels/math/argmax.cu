// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/reduce.cuh"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

// A candidate: the first of equal values wins. NaN is never better.
template <typename W>
struct Found {
  W value;
  int64_t at;  // -1: none yet
};

template <bool kMax, typename W>
__device__ __forceinline__ Found<W> Better(Found<W> a, Found<W> b) {
  if (b.at < 0) return a;
  if (a.at < 0) return b;
  const bool is_better = kMax ? b.value > a.value : b.value < a.value;
  const bool is_equal = a.value == b.value;
  return is_better || (is_equal && b.at < a.at) ? b : a;
}

// A warp for each result; the input is [outer, n, inner].
template <bool kMax, typename D>
__global__ void FindExtremes(const D* in, ReduceSizes s, int32_t* out32, int64_t* out64) {
  using W = WideType<D>;
  const int lane = threadIdx.x % 32;
  const int64_t warps = gridDim.x * int64_t{kReduceThreads / 32};
  for (int64_t r = blockIdx.x * int64_t{kReduceThreads / 32} + threadIdx.x / 32; r < s.outer * s.inner; r += warps) {
    const D* const from = in + r / s.inner * s.reduce * s.inner + r % s.inner;
    Found<W> best = {W(0), -1};
    for (int64_t i = lane; i < s.reduce; i += 32) {
      const W value = Widen(from[i * s.inner]);
      if (value == value) best = Better<kMax, W>(best, {value, i});
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const auto value = static_cast<W>(__shfl_xor_sync(~0U, best.value, step));
      best = Better<kMax, W>(best, {value, __shfl_xor_sync(~0U, best.at, step)});
    }
    if (lane != 0) continue;
    const int64_t at = best.at < 0 ? 0 : best.at;
    if (out64 != nullptr) {
      out64[r] = at;
    } else {
      out32[r] = static_cast<int32_t>(at);
    }
  }
}

Status ReadArgAxis(const Tensor& dim, const Tensor& in, int* axis) {
  if (dim.rank() != 0) {
    return errors::InvalidArgument("dim must be a scalar, but received tensor of shape: ", dim.shape().ToString());
  }
  int64_t value = 0;
  DispatchOver(Types<int16_t, int32_t, int64_t>{}, dim.dtype(),
               [&](auto tag) { value = dim.scalar<typename decltype(tag)::type>(); });
  if (value < -in.rank() || value >= in.rank()) {
    return errors::InvalidArgument("Expected dimension in the range [", -in.rank(), ", ", in.rank(), "), but got ",
                                   value);
  }
  *axis = static_cast<int>(value < 0 ? value + in.rank() : value);
  return OkStatus();
}

template <typename T, bool kMax>
class ArgExtreme final : public CudaKernel {
 public:
  explicit ArgExtreme(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    int axis = 0;
    RETURN_IF_ERROR(ReadArgAxis(call.input(1), in, &axis));
    Shape shape = in.shape();
    shape.RemoveDim(axis);
    const ReduceSizes s = {in.shape().Product(0, axis), in.dim(axis), in.shape().Product(axis + 1, in.rank())};
    if (s.reduce == 0) {
      return errors::InvalidArgument("Reduction axis ", axis, " is empty in shape ", in.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t results = shape.num_elements();
    if (results == 0) return OkStatus();
    using D = DeviceType<T>;
    const bool is_wide = out->dtype() == DType::kInt64;
    FindExtremes<kMax><<<BlocksFor(results * 32), kReduceThreads, 0, call.stream()>>>(
        static_cast<const D*>(in.raw()), s, is_wide ? nullptr : static_cast<int32_t*>(out->raw()),
        is_wide ? static_cast<int64_t*>(out->raw()) : nullptr);
    return call.Launched();
  }
};

using ArgTypes = Join<FloatTypes, Types<int64_t, int32_t, uint8_t, bool>>;

// For one type of results.
template <bool kMax, typename... Ts>
KernelBuilder RegisterArg(const char* op, Types<Ts...>) {
  KernelBuilder builder(op);
  builder.HostMemory("dimension");
  const auto add = [&]<typename T>(std::type_identity<T>) {
    for (const DType result : {DType::kInt32, DType::kInt64}) {
      builder.Add({{"T", kDTypeOf<T>}, {"output_type", result}},
                  [](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                    return std::unique_ptr<Kernel>(std::make_unique<ArgExtreme<T, kMax>>(init));
                  });
    }
  };
  (add(std::type_identity<Ts>{}), ...);
  return builder;
}

[[maybe_unused]] const KernelBuilder argmax_registration = RegisterArg<true>("ArgMax", ArgTypes{});
[[maybe_unused]] const KernelBuilder argmin_registration = RegisterArg<false>("ArgMin", ArgTypes{});

}  // namespace
}  // namespace millstream::cuda
