// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_FUNCTIONS_FUNCTION_CALL_H_
#define MILLSTREAM_OPS_FUNCTIONS_FUNCTION_CALL_H_

#include <memory>
#include <vector>

#include "millstream/framework/kernel.h"

namespace millstream {

// A function that a kernel calls: compiled on first use. Thread-safe.
class CalledFunction {
 public:
  explicit CalledFunction(NameAttrList function) : function_(std::move(function)) {}

  static constexpr size_t kAnyNumber = static_cast<size_t>(-1);
  // InvalidArgument unless it takes `num_args` and gives `num_rets` (if not
  // kAnyNumber) values.
  StatusOr<std::shared_ptr<CompiledFunction>> Get(KernelContext& ctx, size_t num_args, size_t num_rets);

 private:
  const NameAttrList function_;
  Mutex mu_;
  // The runner owns it; a strong pointer here would make recursive functions
  // keep themselves alive.
  std::weak_ptr<CompiledFunction> compiled_ ABSL_GUARDED_BY(mu_);
};

// Calls `function` with inputs [first, num_inputs) of the kernel and gives what
// it returns as the kernel's outputs.
void CallFunction(KernelContext& ctx, CalledFunction& function, int first, AsyncKernel::Done done);

// A condition as TensorFlow reads it: a scalar is true if it is not zero, false
// or empty; any other tensor if it has elements.
StatusOr<bool> AsCondition(const Tensor& t);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_FUNCTIONS_FUNCTION_CALL_H_
