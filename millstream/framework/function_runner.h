// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_FUNCTION_RUNNER_H_
#define MILLSTREAM_FRAMEWORK_FUNCTION_RUNNER_H_

#include <functional>
#include <memory>
#include <vector>

#include "millstream/framework/attr_value.h"

namespace millstream {

struct StepContext;

// A function of the library, compiled. Immutable; shared by whoever runs it.
class CompiledFunction {
 public:
  virtual ~CompiledFunction() = default;
  virtual const std::vector<DType>& arg_types() const = 0;
  virtual const std::vector<DType>& ret_types() const = 0;
};

// How kernels call functions (If, While, PartitionedCall, dataset maps) without knowing the runtime. Thread-safe.
class FunctionRunner {
 public:
  virtual ~FunctionRunner() = default;
  // Compiles on first use, then answers from a cache. NotFound if the library has no such function.
  virtual StatusOr<std::shared_ptr<CompiledFunction>> Instantiate(const NameAttrList& function) = 0;
  // Runs with the resources, cancellation and device of `step`. `done` may run on any thread, or before this returns;
  // `rets` is filled when its status is OK. `args` are consumed. `step` must outlive the call.
  virtual void RunAsync(const CompiledFunction& function, const StepContext& step, std::vector<Tensor> args,
                        std::vector<Tensor>* rets, std::function<void(Status)> done) = 0;
  // Waits. Only where a thread may block (datasets' own threads).
  Status Run(const CompiledFunction& function, const StepContext& step, std::vector<Tensor> args,
             std::vector<Tensor>* rets);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_FUNCTION_RUNNER_H_
