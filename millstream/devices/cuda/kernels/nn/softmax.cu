// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/nn/softmax_rows.cuh"

namespace millstream::cuda {
namespace {

template <typename D>
__global__ void SoftmaxRows(const D* in, D* out, int64_t rows, int64_t columns, bool log_of_it, bool by_warp) {
  using W = WideType<D>;
  const RowTeam team(by_warp);
  for (int64_t r = team.first; r < rows; r += team.step) {
    const D* const x = in + r * columns;
    D* const y = out + r * columns;
    const RowSummary<W> row = SummarizeRow<W>(team, columns, [x](int64_t c) { return Widen(x[c]); });
    const W log_sum = log(row.sum), inverse = W(1) / row.sum;
    for (int64_t c = team.lane; c < columns; c += team.lanes) {
      const W shifted = Widen(x[c]) - row.max;
      y[c] = Narrow<D>(log_of_it ? shifted - log_sum : exp(shifted) * inverse);
    }
  }
}

template <typename T, bool kLog>
class SoftmaxKernel final : public CudaKernel {
 public:
  explicit SoftmaxKernel(KernelInit&) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor& logits = call.input(0);
    if (logits.rank() < 1) {
      return errors::InvalidArgument("logits must have >= 1 dimension, got ", logits.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, logits.shape()));
    if (out->num_elements() == 0) return OkStatus();
    const int64_t columns = out->dim(out->rank() - 1), rows = out->num_elements() / columns;
    const RowLaunch launch(rows, columns);
    SoftmaxRows<<<launch.blocks, kSoftmaxThreads, 0, call.stream()>>>(
        static_cast<const D*>(call.input(0).raw()), static_cast<D*>(out->raw()), rows, columns, kLog, launch.by_warp);
    return call.Launched();
  }
};
template <typename T>
using Softmax = SoftmaxKernel<T, false>;
template <typename T>
using LogSoftmax = SoftmaxKernel<T, true>;

CUDA_KERNEL("Softmax").For<Softmax>(FloatTypes{});
CUDA_KERNEL("LogSoftmax").For<LogSoftmax>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
