// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_ELEMENTWISE_CUH_
#define MILLSTREAM_DEVICES_CUDA_ELEMENTWISE_CUH_

#include <algorithm>

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/devices/cuda/strided.h"
#include "millstream/devices/cuda/types.cuh"
#include "millstream/ops/elements/broadcast.h"

// Element-wise kernels. A function of elements is a struct whose operator() takes values of the wide type (float for
// the 16-bit floats) and is given the same for all types:
//   struct SquareFn {
//     template <typename T>
//     __device__ T operator()(T x) const { return x * x; }
//   };
//   CUDA_UNARY("Square", SquareFn, RealTypes);
//   CUDA_BINARY("AddV2", AddFn, NumberTypes);     // broadcasts
//   CUDA_COMPARE("Less", LessFn, RealTypes);      // broadcasts, gives bool

namespace millstream::cuda {

inline constexpr int kThreads = 256;
inline constexpr int64_t kMaxBlocks = 132 * 16;

// Blocks for a loop that strides over the grid.
inline unsigned int BlocksFor(int64_t items) {
  return static_cast<unsigned int>(std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, kMaxBlocks));
}

#define CUDA_FOR_EACH(i, n)                                                              \
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < (n); \
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)

// Several elements that are read and written at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) Lanes {
  T lane[N];
};
template <typename... Ts>
inline constexpr int kLanes = 16 / std::max({sizeof(Ts)...});

inline bool IsAligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// out[i] = fn(in_0[i], in_1[i], ...)
template <typename Fn, typename Out, typename... Ins>
__global__ void MapLanes(Fn fn, int64_t groups, Out* out, const Ins*... in) {
  constexpr int n = kLanes<Out, Ins...>;
  CUDA_FOR_EACH(g, groups) {
    Lanes<Out, n> result;
    [&](const Lanes<Ins, n>&... values) {
#pragma unroll
      for (int k = 0; k < n; ++k) result.lane[k] = Narrow<Out>(fn(Widen(values.lane[k])...));
    }(reinterpret_cast<const Lanes<Ins, n>*>(in)[g]...);
    reinterpret_cast<Lanes<Out, n>*>(out)[g] = result;
  }
}
template <typename Fn, typename Out, typename... Ins>
__global__ void MapElements(Fn fn, int64_t count, Out* out, const Ins*... in) {
  CUDA_FOR_EACH(i, count) { out[i] = Narrow<Out>(fn(Widen(in[i])...)); }
}

// Inputs and output may be the same memory.
template <typename Fn, typename Out, typename... Ins>
void LaunchMap(cudaStream_t stream, Fn fn, int64_t count, Out* out, const Ins*... in) {
  if (count == 0) return;
  constexpr int n = kLanes<Out, Ins...>;
  if (count % n == 0 && IsAligned(out) && (IsAligned(in) && ...)) {
    MapLanes<<<BlocksFor(count / n), kThreads, 0, stream>>>(fn, count / n, out, in...);
  } else {
    MapElements<<<BlocksFor(count), kThreads, 0, stream>>>(fn, count, out, in...);
  }
}

// Index is uint32_t where the result is small enough: its division is several times faster.
template <typename Index, typename Fn, typename Out, typename A, typename B>
__global__ void MapBroadcast(Fn fn, Strided<2> at, Index count, Out* out, const A* a, const B* b) {
  const auto step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = blockIdx.x * static_cast<Index>(blockDim.x) + threadIdx.x; i < count; i += step) {
    Index rest = i, from_a = 0, from_b = 0;
#pragma unroll 1
    for (int d = 0; d < at.rank; ++d) {
      const auto dim = static_cast<Index>(at.dims[d]);
      const Index where = rest % dim;
      rest /= dim;
      from_a += where * static_cast<Index>(at.strides[0][d]);
      from_b += where * static_cast<Index>(at.strides[1][d]);
    }
    out[i] = Narrow<Out>(fn(Widen(a[from_a]), Widen(b[from_b])));
  }
}

template <typename Fn, typename W>
struct WithFirst {  // the first operand is one element
  Fn fn;
  const W* first;
  template <typename V>
  __device__ auto operator()(V second) const {
    return fn(Widen(*first), second);
  }
};
template <typename Fn, typename W>
struct WithSecond {
  Fn fn;
  const W* second;
  template <typename V>
  __device__ auto operator()(V first) const {
    return fn(first, Widen(*second));
  }
};

// Broadcasts `a` and `b` to the shape of the result.
template <typename Fn, typename Out, typename A, typename B>
Status LaunchBroadcast(cudaStream_t stream, Fn fn, const Shape& a_shape, const Shape& b_shape, const Shape& shape,
                       Out* out, const A* a, const B* b) {
  const int64_t count = shape.num_elements();
  if (count == 0) return OkStatus();
  if (a_shape.num_elements() == count && b_shape.num_elements() == count) {
    LaunchMap(stream, fn, count, out, a, b);
  } else if (b_shape.num_elements() == 1 && a_shape.num_elements() == count) {
    LaunchMap(stream, WithSecond<Fn, B>{fn, b}, count, out, a);
  } else if (a_shape.num_elements() == 1 && b_shape.num_elements() == count) {
    LaunchMap(stream, WithFirst<Fn, A>{fn, a}, count, out, b);
  } else {
    ASSIGN_OR_RETURN(const Strided<2> at, MakeStrided<2>({&a_shape, &b_shape}, shape));
    if (count < (int64_t{1} << 31)) {
      MapBroadcast<uint32_t>
          <<<BlocksFor(count), kThreads, 0, stream>>>(fn, at, static_cast<uint32_t>(count), out, a, b);
    } else {
      MapBroadcast<uint64_t>
          <<<BlocksFor(count), kThreads, 0, stream>>>(fn, at, static_cast<uint64_t>(count), out, a, b);
    }
  }
  return OkStatus();
}

// Kernel classes. Result: void for the type of the argument.
template <typename Fn, typename T, typename Result = void>
class UnaryKernel final : public CudaKernel {
 public:
  explicit UnaryKernel(KernelInit&) {}

  Status Issue(Call& call) override {
    using Out = std::conditional_t<std::is_void_v<Result>, T, Result>;
    const Tensor& in = call.input(0);
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, in.shape()));
    LaunchMap(call.stream(), Fn(), in.num_elements(), static_cast<DeviceType<Out>*>(out->raw()),
              static_cast<const DeviceType<T>*>(in.raw()));
    return call.Launched();
  }
};

template <typename Fn, typename T, typename Result = void>
class BinaryKernel final : public CudaKernel {
 public:
  explicit BinaryKernel(KernelInit&) {}

  Status Issue(Call& call) override {
    using Out = std::conditional_t<std::is_void_v<Result>, T, Result>;
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(a.shape(), b.shape()));
    // In place only where nothing is repeated, so that each element is read before it is written.
    ASSIGN_OR_RETURN(Tensor * out,
                     a.shape() == b.shape() ? call.OutputInPlace({0, 1}, 0, shape) : call.Output(0, shape));
    RETURN_IF_ERROR(
        LaunchBroadcast(call.stream(), Fn(), a.shape(), b.shape(), shape, static_cast<DeviceType<Out>*>(out->raw()),
                        static_cast<const DeviceType<T>*>(a.raw()), static_cast<const DeviceType<T>*>(b.raw())));
    return call.Launched();
  }
};

// Names of class templates over one type, for KernelBuilder::For.
template <typename Fn, typename Result = void>
struct Elementwise {
  template <typename T>
  using Unary = UnaryKernel<Fn, T, Result>;
  template <typename T>
  using Binary = BinaryKernel<Fn, T, Result>;
};

#define CUDA_UNARY(op, Fn, TypeList) CUDA_KERNEL(op).For<Elementwise<Fn>::template Unary>(TypeList{})
#define CUDA_BINARY(op, Fn, TypeList) CUDA_KERNEL(op).For<Elementwise<Fn>::template Binary>(TypeList{})
#define CUDA_TEST(op, Fn, TypeList) CUDA_KERNEL(op).For<Elementwise<Fn, bool>::template Unary>(TypeList{})
#define CUDA_COMPARE(op, Fn, TypeList) CUDA_KERNEL(op).For<Elementwise<Fn, bool>::template Binary>(TypeList{})

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_ELEMENTWISE_CUH_
