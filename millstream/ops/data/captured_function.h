// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_CAPTURED_FUNCTION_H_
#define MILLSTREAM_OPS_DATA_CAPTURED_FUNCTION_H_

#include <functional>
#include <memory>
#include <vector>

#include "millstream/ops/data/dataset.h"

namespace millstream {

// A function of the library with the values of its last arguments. Immutable.
class CapturedFunction {
 public:
  CapturedFunction() = default;
  CapturedFunction(NameAttrList function, std::vector<Tensor> captured)
      : function_(std::move(function)), captured_(std::move(captured)) {}
  // The function of an attribute, and the inputs of arg `captured`.
  static StatusOr<CapturedFunction> FromInputs(KernelContext& ctx, const NameAttrList& function, int begin, int end);

  // Compiled for one iterator; `owner` outlives it.
  class Instance {
   public:
    Instance() = default;
    // Waits, with the cancellation of `step`.
    Status Run(const StepContext& step, const Element& args, Element* rets) const;
    // Runs on the owner's pool with the owner's cancellation. `rets` must live until `done` was called.
    void RunAsync(const Element& args, Element* rets, std::function<void(Status)> done) const;
    // REQUIRES: made by Instantiate().
    const std::vector<DType>& ret_types() const { return compiled_->ret_types(); }

   private:
    friend class CapturedFunction;
    Element AllArgs(const Element& args) const;
    const StepContext* owner_ = nullptr;
    std::shared_ptr<CompiledFunction> compiled_;
    std::vector<Tensor> captured_;
  };
  // InvalidArgument unless it takes elements of `arg_types`, then the captured values.
  StatusOr<Instance> Instantiate(const StepContext& owner, const std::vector<DType>& arg_types) const;
  // What the function makes of the elements of `input`, by their numbers.
  StatusOr<AccessPtr> MakeAccess(const Dataset& input, const StepContext& owner) const;

 private:
  NameAttrList function_;
  std::vector<Tensor> captured_;
};

// What it means that a function that makes elements ended with `status`, if not OK: OutOfRange is the end of the
// dataset, or InvalidArgument where the number of elements must not change.
Status EndOrError(const Status& status, bool preserve_cardinality, bool* end);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_CAPTURED_FUNCTION_H_
