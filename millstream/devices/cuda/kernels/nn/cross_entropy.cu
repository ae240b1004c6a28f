// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/index_array.cuh"
#include "millstream/devices/cuda/kernels/nn/softmax_rows.cuh"

namespace millstream::cuda {
namespace {

// A matrix, or one of which a row, a column or an element is repeated: steps are 0 then.
template <typename D>
struct RepeatedMatrix {
  const D* data;
  int64_t row_step, column_step;
  __device__ WideType<D> operator()(int64_t r, int64_t c) const { return Widen(data[r * row_step + c * column_step]); }
};

template <typename D>
__global__ void CrossEntropyRows(RepeatedMatrix<D> logits, RepeatedMatrix<D> labels, D* loss, D* backprop, int64_t rows,
                                 int64_t columns, bool by_warp) {
  using W = WideType<D>;
  const RowTeam team(by_warp);
  for (int64_t r = team.first; r < rows; r += team.step) {
    const RowSummary<W> row = SummarizeRow<W>(team, columns, [&](int64_t c) { return logits(r, c); });
    const W log_sum = log(row.sum), inverse = W(1) / row.sum;
    W total = 0;
    for (int64_t c = team.lane; c < columns; c += team.lanes) {
      const W shifted = logits(r, c) - row.max, label = labels(r, c);
      if (label != W(0)) total += label * (log_sum - shifted);  // 0 * inf counts for nothing
      backprop[r * columns + c] = Narrow<D>(exp(shifted) * inverse - label);
    }
    total = team.Sum(total);
    if (team.lane == 0) loss[r] = Narrow<D>(total);
  }
}

// A label out of range gives NaN.
template <typename D>
__global__ void SparseCrossEntropyRows(const D* logits, IndexArray labels, D* loss, D* backprop, int64_t rows,
                                       int64_t columns, bool by_warp) {
  using W = WideType<D>;
  const RowTeam team(by_warp);
  for (int64_t r = team.first; r < rows; r += team.step) {
    const D* const x = logits + r * columns;
    const int64_t label = labels[r];
    const bool is_valid = label >= 0 && label < columns;
    const RowSummary<W> row = SummarizeRow<W>(team, columns, [x](int64_t c) { return Widen(x[c]); });
    const W inverse = W(1) / row.sum, bad = static_cast<W>(NAN);
    if (team.lane == 0) loss[r] = Narrow<D>(is_valid ? log(row.sum) - (Widen(x[label]) - row.max) : bad);
    if (!team.by_warp) {
      __syncthreads();  // the logits may be overwritten by the gradients
    } else {
      __syncwarp();
    }
    for (int64_t c = team.lane; c < columns; c += team.lanes) {
      const W probability = exp(Widen(x[c]) - row.max) * inverse;
      backprop[r * columns + c] = Narrow<D>(is_valid ? probability - (c == label ? W(1) : W(0)) : bad);
    }
  }
}

template <typename D>
RepeatedMatrix<D> Repeat(const Tensor& t) {
  const int64_t columns = t.rank() < 1 ? 1 : t.dim(t.rank() - 1), rows = t.rank() < 2 ? 1 : t.dim(0);
  return {static_cast<const D*>(t.raw()), rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

template <typename T>
class CrossEntropy final : public CudaKernel {
 public:
  explicit CrossEntropy(KernelInit&) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &features = call.input(0), &labels = call.input(1);
    const StatusOr<Shape> shape = BroadcastShapes(features.shape(), labels.shape());
    if (!shape.ok()) {
      return errors::InvalidArgument("logits and labels must be broadcastable: logits_size=",
                                     features.shape().ToString(), " labels_size=", labels.shape().ToString());
    }
    if (shape->rank() != 2) {
      return errors::InvalidArgument(
          "logits and labels must be either 2-dimensional, or broadcasted to be "
          "2-dimensional, got ",
          shape->ToString());
    }
    const int64_t rows = shape->dim(0), columns = shape->dim(1);
    const RepeatedMatrix<D> logits = Repeat<D>(features), targets = Repeat<D>(labels);
    ASSIGN_OR_RETURN(Tensor * loss, call.Output(0, Shape({rows})));
    ASSIGN_OR_RETURN(Tensor * backprop,
                     features.shape() == *shape ? call.OutputInPlace({0}, 1, *shape) : call.Output(1, *shape));
    if (shape->num_elements() == 0) return FillZero(call, loss);
    const RowLaunch launch(rows, columns);
    CrossEntropyRows<<<launch.blocks, kSoftmaxThreads, 0, call.stream()>>>(
        logits, targets, static_cast<D*>(loss->raw()), static_cast<D*>(backprop->raw()), rows, columns, launch.by_warp);
    return call.Launched();
  }
};

Status CheckSparse(const Tensor& features, const Tensor& labels) {
  if (features.rank() != 2) {
    return errors::InvalidArgument("logits must be 2-D, but got shape ", features.shape().ToString());
  }
  if (labels.rank() != 1) {
    return errors::InvalidArgument("labels must be 1-D, but got shape ", labels.shape().ToString());
  }
  if (features.dim(0) != labels.dim(0)) {
    return errors::InvalidArgument("logits and labels must have the same first dimension, got logits shape ",
                                   features.shape().ToString(), " and labels shape ", labels.shape().ToString());
  }
  if (features.dim(1) < 1) {
    return errors::InvalidArgument("Must have at least one class, but got logits shape ", features.shape().ToString());
  }
  return OkStatus();
}

template <typename T>
class SparseCrossEntropy final : public CudaKernel {
 public:
  explicit SparseCrossEntropy(KernelInit&) {}

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    const Tensor &features = call.input(0), &labels = call.input(1);
    RETURN_IF_ERROR(CheckSparse(features, labels));
    const int64_t rows = features.dim(0), columns = features.dim(1);
    const auto* const logits = static_cast<const D*>(features.raw());
    ASSIGN_OR_RETURN(Tensor * loss, call.Output(0, labels.shape()));
    ASSIGN_OR_RETURN(Tensor * backprop, call.OutputInPlace({0}, 1, features.shape()));
    if (rows == 0) return OkStatus();
    const RowLaunch launch(rows, columns);
    SparseCrossEntropyRows<<<launch.blocks, kSoftmaxThreads, 0, call.stream()>>>(
        logits, IndexArray(labels), static_cast<D*>(loss->raw()), static_cast<D*>(backprop->raw()), rows, columns,
        launch.by_warp);
    return call.Launched();
  }
};

CUDA_KERNEL("SoftmaxCrossEntropyWithLogits").For<CrossEntropy>(FloatTypes{});
CUDA_KERNEL("SparseSoftmaxCrossEntropyWithLogits").For<SparseCrossEntropy>(FloatTypes{});

}  // namespace
}  // namespace millstream::cuda
