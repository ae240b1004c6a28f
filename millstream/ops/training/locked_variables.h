// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TRAINING_LOCKED_VARIABLES_H_
#define MILLSTREAM_OPS_TRAINING_LOCKED_VARIABLES_H_

#include <array>

#include "millstream/framework/kernel.h"

namespace millstream {

// The variables that one update changes (the first inputs of its op), locked
// together until the end of this object. Locks are taken in the order of
// addresses, each once, so that updates which share variables cannot deadlock.
class LockedVariables {
 public:
  static constexpr int kMax = 4;

  LockedVariables() = default;
  ~LockedVariables();
  LockedVariables(const LockedVariables&) = delete;
  LockedVariables& operator=(const LockedVariables&) = delete;

  // FailedPrecondition if one of inputs [0, count) has no value;
  // InvalidArgument if one is of another type.
  Status Lock(KernelContext& ctx, int count, DType dtype);
  // The shape of the first one. REQUIRES: Lock() succeeded, as everything below
  // does.
  const Shape& shape() const;
  // InvalidArgument unless all variables and the gradient have one shape.
  Status CheckDense(const KernelContext& ctx, int grad) const;
  // InvalidArgument unless all variables have one shape and the gradient holds
  // one row of it for each index.
  Status CheckSparse(const KernelContext& ctx, int grad, int indices) const;

  // Buffers that nobody else sees.
  template <typename T>
  Status MutableData(std::array<T*, kMax>* data) {
    data->fill(nullptr);
    for (int i = 0; i < count_; ++i) {
      ASSIGN_OR_RETURN(Tensor * t, Mutable(i));
      (*data)[i] = t->data<T>();
    }
    return OkStatus();
  }

  // The same for an update that writes every element: where somebody still reads a variable, it has a new buffer
  // without values, and `from` has the old ones, which the caller brings over. They live as long as this object.
  template <typename T>
  Status DataToRewrite(std::array<T*, kMax>* data, std::array<const T*, kMax>* from) {
    from->fill(nullptr);
    RETURN_IF_ERROR(RenewSharedBuffers());
    for (int i = 0; i < count_; ++i) {
      if (old_[i].IsInitialized()) (*from)[i] = old_[i].data<T>();
    }
    return MutableData(data);
  }

 private:
  Status RenewSharedBuffers();
  StatusOr<Tensor*> Mutable(int i);
  const Tensor& tensor(int i) const;
  Status CheckSlots(const KernelContext& ctx) const;

  std::array<Ref<Variable>, kMax> variables_;  // as the inputs come
  std::array<Variable*, kMax> locked_ = {};    // by address, without repetitions
  std::array<Tensor, kMax> old_;
  int count_ = 0;
  int num_locked_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_TRAINING_LOCKED_VARIABLES_H_
