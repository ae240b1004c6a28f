// SPDX-License-Identifier: Apache-2.0
// TopK, ReverseSequence, MatrixBandPart: ops that look at rows.
#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/index_array.cuh"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

constexpr int kTopKThreads = 256;
constexpr int64_t kMostPasses = 32;  // more than that, and every element counts how many are before it

// A number that is smaller the larger the value is; NaN comes last.
template <typename W>
__device__ __forceinline__ uint64_t TopKKey(W value) {
  if constexpr (std::is_integral_v<W>) {
    constexpr uint64_t kSign = std::is_signed_v<W> ? uint64_t{1} << 63 : 0;
    return ~(static_cast<uint64_t>(static_cast<int64_t>(value)) ^ kSign);
  } else {
    const double x = value;
    if (x != x) return ~uint64_t{0};
    const auto bits = x == 0 ? uint64_t{0} : static_cast<uint64_t>(__double_as_longlong(x));  // zeros are equal
    return bits >> 63 != 0 ? bits : ~bits & ~(uint64_t{1} << 63);
  }
}

// An element by its key and place; of equal values the first one is before the others.
struct TopKItem {
  uint64_t key;
  int64_t place;
  __device__ bool operator<(const TopKItem& o) const { return key != o.key ? key < o.key : place < o.place; }
};
__device__ __forceinline__ TopKItem Shuffled(const TopKItem& item, int step) {
  return {__shfl_xor_sync(~0U, item.key, step), __shfl_xor_sync(~0U, item.place, step)};
}
__device__ __forceinline__ TopKItem FirstOfBlock(TopKItem item) {
  __shared__ TopKItem of_warp[kTopKThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const TopKItem other = Shuffled(item, step);
    if (other < item) item = other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = item;
  __syncthreads();
  for (int w = 0; w < kTopKThreads / 32; ++w) {
    if (of_warp[w] < item) item = of_warp[w];
  }
  return item;
}

// A block for each row, k times: the first of the elements behind the one that was found last.
template <typename D, typename Index>
__global__ void TopKByPasses(const D* in, int64_t rows, int64_t n, int64_t k, D* values, Index* indices) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const D* const x = in + row * n;
    TopKItem last = {0, -1};
    for (int64_t found = 0; found < k; ++found) {
      TopKItem best = {~uint64_t{0}, INT64_MAX};
      for (int64_t i = threadIdx.x; i < n; i += kTopKThreads) {
        const TopKItem item = {TopKKey(Widen(x[i])), i};
        if (item < best && (found == 0 || last < item)) best = item;
      }
      last = FirstOfBlock(best);
      if (threadIdx.x == 0) {
        values[row * k + found] = x[last.place];
        indices[row * k + found] = static_cast<Index>(last.place);
      }
    }
  }
}

// Every element counts those before it, which is its place in the result.
template <typename D, typename Index>
__global__ void TopKByRank(const D* in, int64_t rows, int64_t n, int64_t k, D* values, Index* indices) {
  CUDA_FOR_EACH(e, rows * n) {
    const int64_t row = e / n;
    const D* const x = in + row * n;
    const TopKItem item = {TopKKey(Widen(x[e - row * n])), e - row * n};
    int64_t rank = 0;
    for (int64_t i = 0; i < n && rank < k; ++i) rank += TopKItem{TopKKey(Widen(x[i])), i} < item ? 1 : 0;
    if (rank < k) {
      values[row * k + rank] = x[item.place];
      indices[row * k + rank] = static_cast<Index>(item.place);
    }
  }
}

template <typename T>
class TopK final : public CudaKernel {
 public:
  explicit TopK(KernelInit& init) : k_(init.HasAttr("k") ? init.Attr<int64_t>("k") : -1) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& in = call.input(0);
    int64_t k = k_;
    if (k < 0) {
      if (call.input(1).rank() != 0) {
        return errors::InvalidArgument("k must be scalar, got shape ", call.input(1).shape().ToString());
      }
      RETURN_IF_ERROR(ReadIntScalar(call.input(1), "k", &k));
    }
    if (k < 0) return errors::InvalidArgument("Need k >= 0, got ", k);
    if (in.rank() < 1) return errors::InvalidArgument("input must be >= 1-D, got shape ", in.shape().ToString());
    const int64_t n = in.dim(in.rank() - 1);
    if (n < k) return errors::InvalidArgument("input must have at least k columns. Had ", n, ", needed ", k);
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims.back() = k;
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * values, call.Output(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, call.Output(1, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t rows = shape.num_elements() / k;
    DispatchOver(IndexTypes{}, indices->dtype(), [&](auto tag) {
      using Index = typename decltype(tag)::type;
      const auto* const from = static_cast<const D*>(in.raw());
      auto* const to = static_cast<D*>(values->raw());
      auto* const places = static_cast<Index*>(indices->raw());
      if (k <= kMostPasses) {
        const auto blocks = static_cast<unsigned int>(std::min(rows, kMaxBlocks));
        TopKByPasses<<<blocks, kTopKThreads, 0, call.stream()>>>(from, rows, n, k, to, places);
      } else {
        TopKByRank<<<BlocksFor(rows * n), kThreads, 0, call.stream()>>>(from, rows, n, k, to, places);
      }
    });
    return call.Launched();
  }

 private:
  const int64_t k_;
};

// The array is [outer, steps, middle, batch, inner] (or with steps and batch exchanged). Lengths that are too large are
// taken for the number of steps, negative ones for 0.
struct Sequences {
  int64_t first, middle, second, inner, steps;
  bool batch_first;
};
template <typename U>
__global__ void ReverseSequences(Sequences s, IndexArray lengths, const U* from, U* to, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const int64_t k = i % s.inner, j = i / s.inner % s.second, m = i / (s.inner * s.second) % s.middle;
    const int64_t a = i / (s.inner * s.second * s.middle) % s.first;
    const int64_t outer = i / (s.inner * s.second * s.middle * s.first);
    const int64_t n = min(lengths[s.batch_first ? a : j], s.steps), step = s.batch_first ? j : a;
    const int64_t source = step < n ? n - 1 - step : step;
    const int64_t from_a = s.batch_first ? a : source, from_j = s.batch_first ? source : j;
    to[i] = from[(((outer * s.first + from_a) * s.middle + m) * s.second + from_j) * s.inner + k];
  }
}

class ReverseSequence final : public CudaKernel {
 public:
  explicit ReverseSequence(KernelInit& init)
      : seq_dim_(init.Attr<int>("seq_dim")), batch_dim_(init.Attr<int>("batch_dim")) {}

  Status Issue(Call& call) override {
    const Tensor &in = call.input(0), &lengths = call.input(1);
    RETURN_IF_ERROR(Check(in, lengths));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    const int a = std::min(seq_dim_, batch_dim_), b = std::max(seq_dim_, batch_dim_);
    const Shape& shape = in.shape();
    const auto bytes = static_cast<int64_t>(DTypeSize(in.dtype())) * shape.Product(b + 1, shape.rank());
    const int unit = CopyUnit(AddressBits(in.raw()) | AddressBits(out->raw()) | static_cast<uint64_t>(bytes));
    const Sequences s = {shape.dim(a), shape.Product(a + 1, b), shape.dim(b),
                         bytes / unit, shape.dim(seq_dim_),     batch_dim_ == a};
    const int64_t count = static_cast<int64_t>(in.ByteSize()) / unit;
    WithUnit(unit, [&](auto type) {
      using U = typename decltype(type)::type;
      ReverseSequences<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
          s, IndexArray(lengths), static_cast<const U*>(in.raw()), static_cast<U*>(out->raw()), count);
    });
    return call.Launched();
  }

 private:
  Status Check(const Tensor& in, const Tensor& lengths) const {
    if (lengths.rank() != 1) return errors::InvalidArgument("seq_lengths must be 1-dim, not ", lengths.rank());
    if (seq_dim_ < 0 || seq_dim_ >= in.rank()) {
      return errors::InvalidArgument("seq_dim must be < input rank ( ", seq_dim_, " vs. ", in.rank(), ")");
    }
    if (batch_dim_ < 0 || batch_dim_ >= in.rank()) {
      return errors::InvalidArgument("batch_dim must be < input rank ( ", batch_dim_, " vs. ", in.rank(), ")");
    }
    if (seq_dim_ == batch_dim_) return errors::InvalidArgument("batch_dim == seq_dim == ", seq_dim_);
    if (lengths.dim(0) != in.dim(batch_dim_)) {
      return errors::InvalidArgument("Length of seq_lengths != input.dims(", batch_dim_, "), (", lengths.dim(0),
                                     " vs. ", in.dim(batch_dim_), ")");
    }
    return OkStatus();
  }

  const int seq_dim_, batch_dim_;
};

// Negative: everything on that side of the diagonal is kept.
template <typename U>
__global__ void KeepBand(int64_t rows, int64_t cols, int64_t lower, int64_t upper, const U* from, U* to,
                         int64_t count) {
  CUDA_FOR_EACH(i, count) {
    const int64_t col = i % cols, row = i / cols % rows;
    const bool is_kept = (lower < 0 || row - col <= lower) && (upper < 0 || col - row <= upper);
    to[i] = is_kept ? from[i] : U{};
  }
}

class BandPart final : public CudaKernel {
 public:
  explicit BandPart(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    if (in.rank() < 2) {
      return errors::InvalidArgument("input must be at least 2-dim, received shape: ", in.shape().ToString());
    }
    const int64_t rows = in.dim(in.rank() - 2), cols = in.dim(in.rank() - 1);
    int64_t lower = 0, upper = 0;
    RETURN_IF_ERROR(ReadIntScalar(call.input(1), "num_lower", &lower));
    RETURN_IF_ERROR(ReadIntScalar(call.input(2), "num_upper", &upper));
    if (lower > rows) {
      return errors::InvalidArgument("num_lower must be negative or less or equal to number of rows (", rows,
                                     ") got: ", lower);
    }
    if (upper > cols) {
      return errors::InvalidArgument("num_upper must be negative or less or equal to number of columns (", cols,
                                     ") got: ", upper);
    }
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, in.shape()));
    const int64_t count = out->num_elements();
    if (count == 0) return OkStatus();
    WithUnit(static_cast<int>(DTypeSize(out->dtype())), [&](auto type) {
      using U = typename decltype(type)::type;
      KeepBand<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
          rows, cols, lower, upper, static_cast<const U*>(call.input(0).raw()), static_cast<U*>(out->raw()), count);
    });
    return call.Launched();
  }
};

// Kernels for one type of results: int16 is left to the host.
template <typename... Ts>
KernelBuilder RegisterTopKV2(Types<Ts...>) {
  KernelBuilder builder("TopKV2");
  builder.HostMemory("k");
  const auto add = [&]<typename T>(std::type_identity<T>) {
    for (const DType result : {DType::kInt32, DType::kInt64}) {
      builder.Add({{"T", kDTypeOf<T>}, {"index_type", result}},
                  [](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                    return std::unique_ptr<Kernel>(std::make_unique<TopK<T>>(init));
                  });
    }
  };
  (add(std::type_identity<Ts>{}), ...);
  return builder;
}

using TopKTypes = Join<FloatTypes, IndexTypes>;
[[maybe_unused]] const KernelBuilder top_k_registration = RegisterTopKV2(TopKTypes{});
CUDA_KERNEL("TopK").For<TopK>(TopKTypes{});
CUDA_KERNEL("ReverseSequence").ClassFor<ReverseSequence>(PodTypes{});
CUDA_KERNEL("MatrixBandPart").HostMemory("num_lower").HostMemory("num_upper").ClassFor<BandPart>(PodTypes{});
CUDA_KERNEL("BatchMatrixBandPart").HostMemory("num_lower").HostMemory("num_upper").ClassFor<BandPart>(PodTypes{});

}  // namespace
}  // namespace millstream::cuda
