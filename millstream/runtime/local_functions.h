// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_LOCAL_FUNCTIONS_H_
#define MILLSTREAM_RUNTIME_LOCAL_FUNCTIONS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "millstream/base/mutex.h"
#include "millstream/framework/function_runner.h"
#include "millstream/framework/held_functions.h"
#include "millstream/graph/functions/library_source.h"
#include "millstream/runtime/compile.h"

namespace millstream {

// Runs the functions of a session's library: each instance (name and attributes) is compiled once. Thread-safe.
class LocalFunctions final : public FunctionRunner, public HeldFunctions, public LibrarySource {
 public:
  // Prepares a function body for compilation: placement and rewrites.
  using Prepare = std::function<Status(PrunedGraph*)>;
  LocalFunctions(std::shared_ptr<FunctionLibrary> library, CompileOptions compile, Prepare prepare)
      : library_(std::move(library)), compile_(std::move(compile)), prepare_(std::move(prepare)) {}

  StatusOr<std::shared_ptr<CompiledFunction>> Instantiate(const NameAttrList& function) override;
  void RunAsync(const CompiledFunction& function, const StepContext& step, std::vector<Tensor> args,
                std::vector<Tensor>* rets, std::function<void(Status)> done) override;
  const std::shared_ptr<FunctionLibrary>& library() const override { return library_; }

 private:
  class Instance;
  StatusOr<std::shared_ptr<CompiledFunction>> Compile(const NameAttrList& function, const std::string& key);

  const std::shared_ptr<FunctionLibrary> library_;
  const CompileOptions compile_;
  const Prepare prepare_;
  std::atomic<int64_t> active_{0};  // values that calls hold which have not returned
  Mutex mu_;
  std::unordered_map<std::string, std::shared_ptr<CompiledFunction>> instances_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_LOCAL_FUNCTIONS_H_
