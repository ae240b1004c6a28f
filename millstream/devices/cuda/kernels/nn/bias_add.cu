// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/nn/bias_activation.h"

namespace millstream::cuda {
namespace {

// How a tensor with a channel dimension is seen: `outer` times `channels` times `inner` elements.
struct Channels {
  int64_t outer = 1, channels = 1, inner = 1;
};

Channels ChannelsOf(const Shape& shape, bool channels_first) {
  Channels c;
  const int axis = channels_first ? std::min(1, shape.rank() - 1) : shape.rank() - 1;
  c.outer = shape.Product(0, axis);
  c.channels = shape.dim(axis);
  c.inner = shape.Product(axis + 1, shape.rank());
  return c;
}

bool IsChannelsFirst(KernelInit& init) {
  return init.HasAttr("data_format") && init.Attr<std::string>("data_format") == "NCHW";
}

class BiasAdd final : public CudaKernel {
 public:
  explicit BiasAdd(KernelInit& init) : channels_first_(IsChannelsFirst(init)) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    const Tensor& bias = call.input(1);
    if (in.rank() < 2) {
      return errors::InvalidArgument("Input tensor must be at least 2D: ", in.shape().ToString());
    }
    if (bias.rank() != 1) return errors::InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    if (bias.dim(0) != ChannelsOf(in.shape(), channels_first_).channels) {
      return errors::InvalidArgument("Must provide as many biases as the last dimension of the input tensor: ",
                                     bias.shape().ToString(), " vs. ", in.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, in.shape()));
    return AddBiasAndActivate(call, in, bias, math::Activation::kNone, channels_first_, out);
  }

 private:
  const bool channels_first_;
};

// One block for a few channels: threads of a row add up rows, and the rows are added in shared memory.
constexpr int kColumns = 32, kRows = 16;

// Rows [blockIdx.y * each, ...) of `dy`; their sums go to row blockIdx.y of `sums`.
template <typename D, typename R>
__global__ void SumRows(const D* dy, R* sums, int64_t rows, int64_t channels, int64_t each) {
  using W = std::conditional_t<std::is_integral_v<D>, D, WideType<D>>;
  const int64_t end = min(rows, (blockIdx.y + 1) * each);
  __shared__ W partial[kRows][kColumns + 1];
  const int64_t c = blockIdx.x * static_cast<int64_t>(kColumns) + threadIdx.x;
  W sum = W(0);
  if (c < channels) {
    for (int64_t r = blockIdx.y * each + threadIdx.y; r < end; r += kRows) sum += Widen(dy[r * channels + c]);
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && c < channels) {
    for (int r = 1; r < kRows; ++r) sum += partial[r][threadIdx.x];
    sums[blockIdx.y * channels + c] = Narrow<R>(sum);
  }
}

constexpr int64_t kRowsOfBlock = 128;  // more are shared by several blocks, whose sums are summed up then

template <typename D>
Status LaunchSumRows(Call& call, const D* dy, D* sums, int64_t rows, int64_t channels) {
  using W = std::conditional_t<std::is_integral_v<D>, D, WideType<D>>;
  const auto columns = static_cast<unsigned int>((channels + kColumns - 1) / kColumns);
  const dim3 threads(kColumns, kRows);
  const int64_t parts = std::min<int64_t>((rows + kRowsOfBlock - 1) / kRowsOfBlock, 256);
  if (parts <= 1) {
    SumRows<<<columns, threads, 0, call.stream()>>>(dy, sums, rows, channels, rows);
    return call.Launched();
  }
  ASSIGN_OR_RETURN(Tensor partial, call.TempBytes(static_cast<size_t>(parts * channels) * sizeof(W)));
  auto* const sums_of_parts = static_cast<W*>(partial.raw());
  SumRows<<<dim3(columns, static_cast<unsigned int>(parts)), threads, 0, call.stream()>>>(
      dy, sums_of_parts, rows, channels, (rows + parts - 1) / parts);
  SumRows<<<columns, threads, 0, call.stream()>>>(const_cast<const W*>(sums_of_parts), sums, parts, channels, parts);
  return call.Launched();
}

// One block for each channel.
template <typename D>
__global__ void SumPlanes(const D* dy, D* sums, int64_t outer, int64_t channels, int64_t inner) {
  using W = std::conditional_t<std::is_integral_v<D>, D, WideType<D>>;
  __shared__ W partial[kThreads];
  W sum = W(0);
  for (int64_t i = threadIdx.x; i < outer * inner; i += kThreads) {
    sum += Widen(dy[(i / inner * channels + blockIdx.x) * inner + i % inner]);
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = Narrow<D>(partial[0]);
}

template <typename T>
class BiasAddGrad final : public CudaKernel {
 public:
  explicit BiasAddGrad(KernelInit& init) : channels_first_(IsChannelsFirst(init)) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& dy = call.input(0);
    if (dy.rank() < 2) {
      return errors::InvalidArgument("Input tensor must be at least 2D: ", dy.shape().ToString());
    }
    const Channels c = ChannelsOf(dy.shape(), channels_first_);
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, Shape({c.channels})));
    const auto* const from = static_cast<const D*>(dy.raw());
    auto* const to = static_cast<D*>(out->raw());
    if (c.channels == 0) return OkStatus();
    if (c.inner == 1) {
      return LaunchSumRows(call, from, to, c.outer, c.channels);
    } else {
      SumPlanes<<<static_cast<unsigned int>(c.channels), kThreads, 0, call.stream()>>>(from, to, c.outer, c.channels,
                                                                                       c.inner);
    }
    return call.Launched();
  }

 private:
  const bool channels_first_;
};

CUDA_KERNEL("BiasAdd").ClassFor<BiasAdd>(Join<FloatTypes, Types<int32_t>>{});
CUDA_KERNEL("BiasAddV1").ClassFor<BiasAdd>(Join<FloatTypes, Types<int32_t>>{});
CUDA_KERNEL("BiasAddGrad").For<BiasAddGrad>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
