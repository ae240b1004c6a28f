// SPDX-License-Identifier: Apache-2.0
// Updates of some rows of a variable. Rows with the same index are applied in their order, so results do not depend on
// timing. Indices out of range are left out, since the host cannot see them in time.
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/training/sorted_rows.h"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/ops/resources/variable_input.h"
#include "millstream/ops/state/scatter_shapes.h"

namespace millstream::cuda {
namespace {

enum class RowUpdate { kSet, kAdd, kSub, kMul, kDiv, kMin, kMax };

template <typename W>
__device__ __forceinline__ W Updated(W old, W update, RowUpdate how) {
  switch (how) {
    case RowUpdate::kAdd:
      return old + update;
    case RowUpdate::kSub:
      return old - update;
    case RowUpdate::kMul:
      return old * update;
    case RowUpdate::kDiv:
      return old / update;
    case RowUpdate::kMin:
      return update < old ? update : old;
    case RowUpdate::kMax:
      return old < update ? update : old;
    default:
      return update;
  }
}

// A thread for each element of the first row of those with the same place. one: a single update for all elements.
template <typename D>
__global__ void UpdateSomeRows(SortedRows rows, const D* updates, bool one, RowUpdate how, int64_t row, D* to) {
  CUDA_FOR_EACH(i, rows.count * row) {
    int64_t p = i;
    const int64_t column = TakeDim(&p, row), place = rows.places[p];
    if (place < 0 || place >= rows.limit || (p > 0 && rows.places[p - 1] == place)) continue;
    D value = to[place * row + column];
    for (int64_t q = p; q < rows.count && rows.places[q] == place; ++q) {
      const D update = updates[one ? 0 : rows.positions[q] * row + column];
      value = Narrow<D>(Updated(Widen(value), Widen(update), how));
    }
    to[place * row + column] = value;
  }
}

template <typename T, RowUpdate kHow>
class ScatterVariable final : public CudaKernel {
 public:
  explicit ScatterVariable(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const Ref<Variable> variable, VariableInput(call.ctx(), 0, kDTypeOf<T>));
    {
      MutexLock lock(variable->mu());
      RETURN_IF_ERROR(UpdateRows(call, *variable));
    }
    ForwardRef(call.ctx());
    return call.Launched();
  }

 private:
  static Status UpdateRows(Call& call, Variable& variable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(variable.mu()) {
    using D = DeviceType<T>;
    const Tensor &indices = call.input(1), &updates = call.input(2);
    if (!variable.tensor().IsInitialized()) return MissingVariable(call.ctx(), 0);
    ASSIGN_OR_RETURN(Tensor * value, call.MutableValue(variable));
    RETURN_IF_ERROR(CheckScatterShapes(value->shape(), indices.shape(), updates.shape()));
    const int64_t row = value->shape().Product(1, value->rank());
    if (indices.num_elements() == 0 || row == 0) return OkStatus();
    Tensor memory;
    ASSIGN_OR_RETURN(const SortedRows rows, SortRows(call, indices, value->dim(0), &memory));
    UpdateSomeRows<<<BlocksFor(rows.count * row), kThreads, 0, call.stream()>>>(
        rows, static_cast<const D*>(updates.raw()), updates.rank() == 0, kHow, row, static_cast<D*>(value->raw()));
    return OkStatus();
  }
};
template <RowUpdate kHow>
struct Scattering {
  template <typename T>
  using Kernel = ScatterVariable<T, kHow>;
};

using ScatteredTypes = Join<FloatTypes, Types<int64_t>>;

#define CUDA_SCATTER(name, how)                                                                   \
  CUDA_KERNEL("Scatter" name).For<Scattering<RowUpdate::how>::template Kernel>(ScatteredTypes{}); \
  CUDA_KERNEL("ResourceScatter" name).For<Scattering<RowUpdate::how>::template Kernel>(ScatteredTypes{}, "dtype")

CUDA_SCATTER("Update", kSet);
CUDA_SCATTER("Add", kAdd);
CUDA_SCATTER("Sub", kSub);
CUDA_SCATTER("Mul", kMul);
CUDA_SCATTER("Div", kDiv);
CUDA_SCATTER("Min", kMin);
CUDA_SCATTER("Max", kMax);

}  // namespace
}  // namespace millstream::cuda
