// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_POINTWISE_CUH_
#define MILLSTREAM_DEVICES_CUDA_POINTWISE_CUH_

#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/devices/cuda/pointwise_reading.h"

// Element-wise ops with few instances of device code: one kernel for a unary op and type; two for a binary one, the
// second for what the first cannot read in stretches of 16 bytes. Functions are as in elementwise.cuh, and may have
// state (a constructor from KernelInit&).
//   POINTWISE_UNARY("Square", SquareFn, RealTypes);
//   POINTWISE_BINARY("AddV2", AddFn, RealTypes);     // broadcasts
//   POINTWISE_COMPARE("Less", LessFn, RealTypes);    // broadcasts, gives bool
//   POINTWISE_PAIR("ReluGrad", ReluGradFn, RealTypes);   // two operands of one size

// Functions are written once for signed and unsigned types.
#pragma nv_diag_suppress 186  // pointless comparison of unsigned integer with zero

namespace millstream::cuda {

// Functions of which a copy for each element of a stretch would be too much code say `static constexpr bool kIsLong`.
template <typename Fn>
concept LongFunction = requires {
  Fn::kIsLong;
};

// Several operands, all of one size.
template <typename Fn, typename Out, typename... Ins>
__global__ void PointwiseMap(Fn fn, int64_t count, int64_t groups, Out* out, const Ins*... in) {
  constexpr int n = kLanes<Out, Ins...>;
  if constexpr (!LongFunction<Fn>) {
    CUDA_FOR_EACH(g, groups) {
      Lanes<Out, n> y;
      [&](const Lanes<Ins, n>&... x) {
#pragma unroll
        for (int k = 0; k < n; ++k) y.lane[k] = Narrow<Out>(fn(Widen(x.lane[k])...));
      }(reinterpret_cast<const Lanes<Ins, n>*>(in)[g]...);
      reinterpret_cast<Lanes<Out, n>*>(out)[g] = y;
    }
  }
  const int64_t first = groups * n + blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  for (int64_t i = first; i < count; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    out[i] = Narrow<Out>(fn(Widen(in[i])...));
  }
}

// Inputs and output may be the same memory.
template <typename Fn, typename Out, typename... Ins>
void LaunchPointwise(cudaStream_t stream, const Fn& fn, int64_t count, Out* out, const Ins*... in) {
  if (count == 0) return;
  constexpr int n = kLanes<Out, Ins...>;
  const bool aligned = IsAligned(out) && (IsAligned(in) && ...);
  const int64_t groups = aligned && !LongFunction<Fn> ? count / n : 0;
  PointwiseMap<<<BlocksFor(groups > 0 ? groups : count), kThreads, 0, stream>>>(fn, count, groups, out, in...);
}

template <typename T, int n>
__device__ __forceinline__ Lanes<T, n> ReadLanes(const T* from, const Operand& how, int64_t g) {
  const auto* const groups = reinterpret_cast<const Lanes<T, n>*>(from);
  if (how.reading == Reading::kFull) return groups[g];
  int64_t row = how.reading == Reading::kOne ? 0 : g;
  const int64_t in_row = TakeDim(&row, how.row_groups);
  if (how.reading == Reading::kRow) return groups[in_row];
  const T one = from[row];
  Lanes<T, n> all;
#pragma unroll
  for (int k = 0; k < n; ++k) all.lane[k] = one;
  return all;
}

template <typename Fn, typename Out, typename In>
__global__ void PointwiseBinary(Fn fn, int64_t groups, Operand how_a, Operand how_b, Out* out, const In* a,
                                const In* b) {
  constexpr int n = kLanes<Out, In>;
  CUDA_FOR_EACH(g, groups) {
    const Lanes<In, n> x = ReadLanes<In, n>(a, how_a, g), y = ReadLanes<In, n>(b, how_b, g);
    Lanes<Out, n> z;
#pragma unroll
    for (int k = 0; k < n; ++k) z.lane[k] = Narrow<Out>(fn(Widen(x.lane[k]), Widen(y.lane[k])));
    reinterpret_cast<Lanes<Out, n>*>(out)[g] = z;
  }
}

template <typename Fn, typename Out, typename In>
__global__ void PointwiseStrided(Fn fn, Strided<2> at, int64_t count, Out* out, const In* a, const In* b) {
  CUDA_FOR_EACH(i, count) {
    int64_t where[2];
    Locate(at, i, where);
    out[i] = Narrow<Out>(fn(Widen(a[where[0]]), Widen(b[where[1]])));
  }
}

// Small integers are rare: they do without the kernel that reads stretches.
template <typename In>
inline constexpr bool kReadsLanes = !std::is_integral_v<In> || std::is_same_v<In, int64_t> || std::is_same_v<In, bool>;

template <typename Fn, typename Out, typename In>
Status LaunchBinary(cudaStream_t stream, const Fn& fn, const Shape& a_shape, const Shape& b_shape, const Shape& shape,
                    Out* out, const In* a, const In* b) {
  const int64_t count = shape.num_elements();
  if (count == 0) return OkStatus();
  constexpr int n = kLanes<Out, In>;
  ASSIGN_OR_RETURN(const Strided<2> at, MakeStrided<2>({&a_shape, &b_shape}, shape));
  Operand how_a, how_b;
  if constexpr (kReadsLanes<In> && !LongFunction<Fn>) {
    if (count % n == 0 && IsAligned(out) && IsAligned(a) && IsAligned(b) && FindReading(at, 0, n, &how_a) &&
        FindReading(at, 1, n, &how_b)) {
      PointwiseBinary<<<BlocksFor(count / n), kThreads, 0, stream>>>(fn, count / n, how_a, how_b, out, a, b);
      return OkStatus();
    }
  }
  PointwiseStrided<<<BlocksFor(count), kThreads, 0, stream>>>(fn, at, count, out, a, b);
  return OkStatus();
}

template <typename Fn>
Fn MakeFunction(KernelInit& init) {
  if constexpr (std::is_constructible_v<Fn, KernelInit&>) {
    return Fn(init);
  } else {
    return Fn();
  }
}

template <typename Fn, typename T, typename Result = T>
class PointwiseUnaryKernel final : public CudaKernel {
 public:
  explicit PointwiseUnaryKernel(KernelInit& init) : fn_(MakeFunction<Fn>(init)) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    const void* const from = in.raw();
    const int64_t count = in.num_elements();
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, in.shape()));
    LaunchPointwise(call.stream(), fn_, count, static_cast<DeviceType<Result>*>(out->raw()),
                    static_cast<const DeviceType<T>*>(from));
    return call.Launched();
  }

 private:
  const Fn fn_;
};

// kSwapped: the function gets the operands in the other order, so that Greater needs no device code beside Less's.
template <typename Fn, typename T, typename Result = T, bool kSwapped = false>
class PointwiseBinaryKernel final : public CudaKernel {
 public:
  explicit PointwiseBinaryKernel(KernelInit& init) : fn_(MakeFunction<Fn>(init)) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& a = call.input(kSwapped ? 1 : 0);
    const Tensor& b = call.input(kSwapped ? 0 : 1);
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(a.shape(), b.shape()));
    // In place only where nothing is repeated, so that each element is read before it is written.
    ASSIGN_OR_RETURN(Tensor * out,
                     a.shape() == b.shape() ? call.OutputInPlace({0, 1}, 0, shape) : call.Output(0, shape));
    RETURN_IF_ERROR(LaunchBinary(call.stream(), fn_, a.shape(), b.shape(), shape,
                                 static_cast<DeviceType<Result>*>(out->raw()), static_cast<const D*>(a.raw()),
                                 static_cast<const D*>(b.raw())));
    return call.Launched();
  }

 private:
  const Fn fn_;
};

// Two operands with the same number of elements.
template <typename Fn, typename T>
class PointwisePairKernel final : public CudaKernel {
 public:
  explicit PointwisePairKernel(KernelInit& init) : fn_(MakeFunction<Fn>(init)) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    const int64_t count = a.num_elements();
    if (count != b.num_elements()) {
      return errors::InvalidArgument("Inputs must have the same size and shape. Input 0: ", a.shape().ToString(),
                                     " != input 1: ", b.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0, 1}, 0, a.shape()));
    LaunchPointwise(call.stream(), fn_, count, static_cast<D*>(out->raw()), static_cast<const D*>(a.raw()),
                    static_cast<const D*>(b.raw()));
    return call.Launched();
  }

 private:
  const Fn fn_;
};

template <typename Fn>
struct Pointwise {
  template <typename T>
  using Unary = PointwiseUnaryKernel<Fn, T>;
  template <typename T>
  using Test = PointwiseUnaryKernel<Fn, T, bool>;
  template <typename T>
  using Binary = PointwiseBinaryKernel<Fn, T>;
  template <typename T>
  using Compare = PointwiseBinaryKernel<Fn, T, bool>;
  template <typename T>
  using Swapped = PointwiseBinaryKernel<Fn, T, bool, true>;
  template <typename T>
  using Pair = PointwisePairKernel<Fn, T>;
};

#define POINTWISE_UNARY(op, Fn, TypeList) CUDA_KERNEL(op).For<Pointwise<Fn>::template Unary>(TypeList{})
#define POINTWISE_TEST(op, Fn, TypeList) CUDA_KERNEL(op).For<Pointwise<Fn>::template Test>(TypeList{})
#define POINTWISE_BINARY(op, Fn, TypeList) CUDA_KERNEL(op).For<Pointwise<Fn>::template Binary>(TypeList{})
#define POINTWISE_COMPARE(op, Fn, TypeList) CUDA_KERNEL(op).For<Pointwise<Fn>::template Compare>(TypeList{})
#define POINTWISE_SWAPPED(op, Fn, TypeList) CUDA_KERNEL(op).For<Pointwise<Fn>::template Swapped>(TypeList{})
#define POINTWISE_PAIR(op, Fn, TypeList) CUDA_KERNEL(op).For<Pointwise<Fn>::template Pair>(TypeList{})

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_POINTWISE_CUH_
