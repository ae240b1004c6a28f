// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_TRAINING_UPDATE_KERNEL_CUH_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_TRAINING_UPDATE_KERNEL_CUH_

#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/training/sorted_rows.h"
#include "millstream/ops/resources/variable_input.h"
#include "millstream/ops/training/update_op.h"

namespace millstream::cuda {

inline constexpr int kMaxVariables = 4;
inline constexpr int kMaxScalars = 6;

// The hyperparameters of an update: scalars in device memory, so that a recorded step sees their values of today. Those
// an op does not have are null.
template <typename D>
struct Scalars {
  const D* at[kMaxScalars];
  bool flag;  // use_nesterov and the like
  __device__ WideType<D> operator[](int i) const { return at[i] == nullptr ? WideType<D>(0) : Widen(*at[i]); }
};

// A rule is a struct:
//   static constexpr int kVariables                          the variable and its slots
//   static constexpr const char* kScalars[]                  names of its scalar inputs, in the order of Scalars
//   static constexpr const char* kFlag                       the boolean attribute that it wants to know, or null
//   template <typename W> struct State                       what is computed once from the scalars, of wide type W
//     template <typename S> __device__ explicit State(const S& scalars)
//     __device__ void operator()(W grad, W* v) const         changes one element of the variable and its slots
template <typename D>
struct UpdateData {
  const D* grad;
  D* variables[kMaxVariables];
};

template <typename Rule, typename D>
__device__ __forceinline__ void UpdateElement(const typename Rule::template State<WideType<D>>& state,
                                              const UpdateData<D>& data, int64_t from, int64_t at) {
  WideType<D> v[Rule::kVariables];
#pragma unroll
  for (int k = 0; k < Rule::kVariables; ++k) v[k] = Widen(data.variables[k][at]);
  state(Widen(data.grad[from]), v);
#pragma unroll
  for (int k = 0; k < Rule::kVariables; ++k) data.variables[k][at] = Narrow<D>(v[k]);
}

template <typename Rule, typename D>
__global__ void UpdateAll(Scalars<D> scalars, UpdateData<D> data, int64_t count) {
  const typename Rule::template State<WideType<D>> state(scalars);
  CUDA_FOR_EACH(i, count) { UpdateElement<Rule>(state, data, i, i); }
}

// Rows are sorted by where they go, those with the same place in their old order: the first of them does all.
template <typename Rule, typename D>
__global__ void UpdateRows(Scalars<D> scalars, UpdateData<D> data, SortedRows rows, int64_t row) {
  const typename Rule::template State<WideType<D>> state(scalars);
  CUDA_FOR_EACH(i, rows.count * row) {
    const int64_t p = i / row, column = i % row;
    const int64_t to = rows.places[p];
    if (to < 0 || to >= rows.limit || (p > 0 && rows.places[p - 1] == to)) continue;
    for (int64_t q = p; q < rows.count && rows.places[q] == to; ++q) {
      UpdateElement<Rule>(state, data, static_cast<int64_t>(rows.positions[q]) * row + column, to * row + column);
    }
  }
}

// Locks the variables of an update, and finds their memory and the scalars'.
template <typename Rule, typename T>
class UpdateBase : public CudaKernel {
 public:
  explicit UpdateBase(KernelInit& init) : inputs_(init.op()) {
    for (size_t i = 0; i < std::size(Rule::kScalars); ++i) {
      scalars_[i] = ScalarInput::InputIndex(init.op(), Rule::kScalars[i]);
    }
    if (Rule::kFlag != nullptr && init.HasAttr(Rule::kFlag)) flag_ = init.template Attr<bool>(Rule::kFlag);
  }

 protected:
  using D = DeviceType<T>;

  Status ReadScalars(const Call& call, Scalars<D>* scalars) const {
    scalars->flag = flag_;
    for (int i = 0; i < kMaxScalars; ++i) {
      scalars->at[i] = nullptr;
      if (scalars_[i] < 0) continue;
      const Tensor& t = call.input(scalars_[i]);
      if (t.rank() != 0) {
        return errors::InvalidArgument(Rule::kScalars[i], " is not a scalar: ", t.shape().ToString());
      }
      scalars->at[i] = static_cast<const D*>(t.raw());
    }
    return OkStatus();
  }

  // REQUIRES: the variables are locked.
  Status FindData(Call& call, UpdateData<D>* data) const {
    data->grad = static_cast<const D*>(call.input(inputs_.grad).raw());
    for (int i = 0; i < inputs_.variables; ++i) {
      ASSIGN_OR_RETURN(const Ref<Variable> variable, VariableInput(call.ctx(), i, kDTypeOf<T>));
      ASSIGN_OR_RETURN(Tensor * value, call.MutableValue(*variable));
      data->variables[i] = static_cast<D*>(value->raw());
    }
    return OkStatus();
  }

  const UpdateInputs inputs_;

 private:
  int scalars_[kMaxScalars] = {-1, -1, -1, -1, -1, -1};
  bool flag_ = false;
};

template <typename Rule, typename T>
class DenseUpdateKernel final : public UpdateBase<Rule, T> {
 public:
  using UpdateBase<Rule, T>::UpdateBase;

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    LockedVariables locked;
    RETURN_IF_ERROR(locked.Lock(call.ctx(), this->inputs_.variables, kDTypeOf<T>));
    RETURN_IF_ERROR(locked.CheckDense(call.ctx(), this->inputs_.grad));
    Scalars<D> scalars;
    UpdateData<D> data;
    RETURN_IF_ERROR(this->ReadScalars(call, &scalars));
    RETURN_IF_ERROR(this->FindData(call, &data));
    const int64_t count = locked.shape().num_elements();
    if (count > 0) {
      UpdateAll<Rule, D><<<BlocksFor(count), kThreads, 0, call.stream()>>>(scalars, data, count);
    }
    ForwardRef(call.ctx());
    return call.Launched();
  }
};

template <typename Rule, typename T>
class SparseUpdateKernel final : public UpdateBase<Rule, T> {
 public:
  using UpdateBase<Rule, T>::UpdateBase;

  Status Issue(Call& call) override {
    using D = DeviceType<T>;
    LockedVariables locked;
    RETURN_IF_ERROR(locked.Lock(call.ctx(), this->inputs_.variables, kDTypeOf<T>));
    RETURN_IF_ERROR(locked.CheckSparse(call.ctx(), this->inputs_.grad, this->inputs_.indices));
    Scalars<D> scalars;
    UpdateData<D> data;
    RETURN_IF_ERROR(this->ReadScalars(call, &scalars));
    RETURN_IF_ERROR(this->FindData(call, &data));
    const Shape& shape = locked.shape();
    const int64_t row = shape.Product(1, shape.rank());
    const Tensor& indices = call.input(this->inputs_.indices);
    if (indices.num_elements() > 0 && row > 0) {
      Tensor memory;
      ASSIGN_OR_RETURN(const SortedRows rows, SortRows(call, indices, shape.dim(0), &memory));
      UpdateRows<Rule, D><<<BlocksFor(rows.count * row), kThreads, 0, call.stream()>>>(scalars, data, rows, row);
    }
    ForwardRef(call.ctx());
    return call.Launched();
  }
};

template <typename Rule>
struct Update {
  template <typename T>
  using Dense = DenseUpdateKernel<Rule, T>;
  template <typename T>
  using Sparse = SparseUpdateKernel<Rule, T>;
};

#define CUDA_DENSE_UPDATE(name, Rule, TypeList)                            \
  CUDA_KERNEL("Apply" name).For<Update<Rule>::template Dense>(TypeList{}); \
  CUDA_KERNEL("ResourceApply" name).For<Update<Rule>::template Dense>(TypeList{})
#define CUDA_SPARSE_UPDATE(name, Rule, TypeList)                                  \
  CUDA_KERNEL("SparseApply" name).For<Update<Rule>::template Sparse>(TypeList{}); \
  CUDA_KERNEL("ResourceSparseApply" name).For<Update<Rule>::template Sparse>(TypeList{})

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_TRAINING_UPDATE_KERNEL_CUH_
