// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

constexpr int kScanThreads = 256;

// The array is [outer, n, inner], scanned along n.
struct ScanLayout {
  int64_t outer, n, inner;
  bool exclusive, reverse;
};

struct ScanSum {
  template <typename W>
  static __device__ W Identity() {
    return W(0);
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return static_cast<W>(a + b);
  }
};
struct ScanProduct {
  template <typename W>
  static __device__ W Identity() {
    return W(1);
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return static_cast<W>(a * b);
  }
};
struct ScanLogSumExp {
  template <typename W>
  static __device__ W Identity() {
    return -static_cast<W>(INFINITY);
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    const W high = a > b || a != a ? a : b;
    return high == -static_cast<W>(INFINITY) ? high : high + log(exp(a - high) + exp(b - high));
  }
};

// A block for each row of n elements: parts of kScanThreads elements, the total of the earlier ones carried on.
template <typename Op, typename D>
__global__ void ScanRows(ScanLayout s, const D* in, D* out) {
  using W = WideType<D>;
  __shared__ W of_warp[kScanThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int64_t row = blockIdx.x; row < s.outer * s.inner; row += gridDim.x) {
    const int64_t base = row / s.inner * s.n * s.inner + row % s.inner;
    W carried = Op::template Identity<W>();
    for (int64_t begin = 0; begin < s.n; begin += kScanThreads) {
      const int64_t i = begin + threadIdx.x;
      const int64_t at = base + (s.reverse ? s.n - 1 - i : i) * s.inner;
      W value = i < s.n ? Widen(in[at]) : Op::template Identity<W>();
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const W before = __shfl_up_sync(~0U, value, step);
        if (lane >= step) value = Op::template Combine<W>(before, value);
      }
      if (lane == 31) of_warp[warp] = value;
      __syncthreads();
      W offset = carried;
      for (int w = 0; w < warp; ++w) offset = Op::template Combine<W>(offset, of_warp[w]);
      for (int w = 0; w < kScanThreads / 32; ++w) carried = Op::template Combine<W>(carried, of_warp[w]);
      W before = __shfl_up_sync(~0U, value, 1);
      before = lane == 0 ? offset : Op::template Combine<W>(offset, before);
      if (i < s.n) out[at] = Narrow<D>(s.exclusive ? before : Op::template Combine<W>(offset, value));
      __syncthreads();
    }
  }
}

// Many rows next to each other: a thread for each.
template <typename Op, typename D>
__global__ void ScanColumns(ScanLayout s, const D* in, D* out) {
  using W = WideType<D>;
  CUDA_FOR_EACH(row, s.outer * s.inner) {
    const int64_t base = row / s.inner * s.n * s.inner + row % s.inner;
    W total = Op::template Identity<W>();
    for (int64_t i = 0; i < s.n; ++i) {
      const int64_t at = base + (s.reverse ? s.n - 1 - i : i) * s.inner;
      const W before = total;
      total = Op::template Combine<W>(total, Widen(in[at]));
      out[at] = Narrow<D>(s.exclusive ? before : total);
    }
  }
}

template <typename T, typename Op>
class ScanKernel final : public CudaKernel {
 public:
  explicit ScanKernel(KernelInit& init)
      : exclusive_(init.Attr<bool>("exclusive")), reverse_(init.Attr<bool>("reverse")) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &x = call.input(0), &axis_tensor = call.input(1);
    if (axis_tensor.rank() != 0) {
      return errors::InvalidArgument("ScanOp: axis must be a scalar, not ", axis_tensor.shape().ToString());
    }
    int64_t axis = 0;
    RETURN_IF_ERROR(ReadIntScalar(axis_tensor, "axis", &axis));
    if (axis < -x.rank() || axis >= x.rank()) {
      return errors::InvalidArgument("ScanOp: Expected scan axis in the range [", -x.rank(), ", ", x.rank(),
                                     "), but got ", axis);
    }
    const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    const ScanLayout s = {x.shape().Product(0, at), x.dim(at), x.shape().Product(at + 1, x.rank()), exclusive_,
                          reverse_};
    ASSIGN_OR_RETURN(Tensor * y, call.OutputInPlace({0}, 0, x.shape()));
    if (y->num_elements() == 0) return OkStatus();
    const auto* const from = static_cast<const D*>(call.input(0).raw());
    auto* const to = static_cast<D*>(y->raw());
    const int64_t rows = s.outer * s.inner;
    if (s.inner >= 32 && rows >= 4096) {
      ScanColumns<Op><<<BlocksFor(rows), kThreads, 0, call.stream()>>>(s, from, to);
    } else {
      ScanRows<Op>
          <<<static_cast<unsigned int>(std::min(rows, kMaxBlocks)), kScanThreads, 0, call.stream()>>>(s, from, to);
    }
    return call.Launched();
  }

 private:
  const bool exclusive_, reverse_;
};

template <typename Op>
struct Scan {
  template <typename T>
  using For = ScanKernel<T, Op>;
};

using ScanTypes = Join<FloatTypes, Types<int32_t, int64_t>>;

CUDA_KERNEL("Cumsum").HostMemory("axis").For<Scan<ScanSum>::For>(ScanTypes{});
CUDA_KERNEL("Cumprod").HostMemory("axis").For<Scan<ScanProduct>::For>(ScanTypes{});
CUDA_KERNEL("CumulativeLogsumexp").HostMemory("axis").For<Scan<ScanLogSumExp>::For>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
