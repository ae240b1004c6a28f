// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_VARIABLE_H_
#define MILLSTREAM_FRAMEWORK_VARIABLE_H_

#include <string>

#include "millstream/base/mutex.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// The state behind both VariableV2 (a ref edge carries a pointer to it) and VarHandleOp: a locked tensor.
//
// Readers take a snapshot, which shares the buffer and never changes. Writers hold mu() for the whole update, so no
// update is lost; MutableTensor() copies the buffer only if a reader still holds it.
class Variable final : public Resource {
 public:
  // `shape` is what was declared; it may be partial.
  Variable(DType dtype, PartialShape shape, std::string name)
      : dtype_(dtype), shape_(std::move(shape)), name_(std::move(name)) {}

  DType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return shape_; }
  const std::string& name() const { return name_; }
  Mutex& mu() ABSL_LOCK_RETURNED(mu_) { return mu_; }

  bool IsInitialized() const {
    MutexLock lock(mu_);
    return tensor_.IsInitialized();
  }
  // An uninitialized Tensor if nothing was assigned yet.
  Tensor Snapshot() const {
    MutexLock lock(mu_);
    return tensor_;
  }
  // Replaces the value. The buffer is shared with `value`.
  void Assign(Tensor value) {
    MutexLock lock(mu_);
    tensor_ = std::move(value);
  }

  const Tensor& tensor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return tensor_; }
  void set_tensor(Tensor value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { tensor_ = std::move(value); }
  // The tensor with a buffer that nobody else sees. FailedPrecondition if uninitialized.
  StatusOr<Tensor*> MutableTensor() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::string DebugString() const override;

 private:
  const DType dtype_;
  const PartialShape shape_;
  const std::string name_;
  mutable Mutex mu_;
  Tensor tensor_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_VARIABLE_H_
