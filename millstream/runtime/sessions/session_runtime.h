// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_SESSION_RUNTIME_H_
#define MILLSTREAM_RUNTIME_SESSIONS_SESSION_RUNTIME_H_

#include <memory>
#include <vector>

#include "millstream/runtime/device_set.h"
#include "millstream/runtime/local_functions.h"

namespace millstream {

// Compiles and runs the plans of one session in this process: it joins devices, state, stateful kernels, functions and
// options. A local session has one for its whole graph, a worker one for each session that a master opened there.
// Thread-safe. Must outlive every plan that it compiled.
class SessionRuntime {
 public:
  enum class FunctionPlacement {
    kAsAsked,     // nodes of function bodies go where they ask to be, as the session's options allow
    kWithCaller,  // function bodies run where their call is, whatever their nodes ask for
  };
  // All of it is borrowed, except for the library.
  struct Environment {
    const DeviceSet* devices = nullptr;
    ThreadPool* pool = nullptr;            // runs ops side by side, and steps that go on after a wait
    ResourceManager* resources = nullptr;  // variables, queues, iterators
    std::shared_ptr<FunctionLibrary> library;
    FunctionPlacement function_placement = FunctionPlacement::kAsAsked;
    int inter_op_threads = 1;  // 1: independent ops run one after the other
  };

  SessionRuntime(const SessionOptions& options, Environment environment);
  SessionRuntime(const SessionRuntime&) = delete;
  SessionRuntime& operator=(const SessionRuntime&) = delete;

  const SessionOptions& options() const { return options_; }
  const DeviceSet& devices() const { return *environment_.devices; }
  const std::shared_ptr<FunctionLibrary>& library() const { return environment_.library; }

  // Rewrites and compiles a part of a graph. CompilePlaced() requires that every node of it has a device; `wrap`: see
  // CompileOptions.
  StatusOr<std::shared_ptr<const Plan>> CompilePlaced(PrunedGraph part, decltype(CompileOptions::wrap) wrap = nullptr);
  StatusOr<std::shared_ptr<const Plan>> PlaceAndCompile(PrunedGraph part);

  // True while a resource that outlives the session's steps calls its functions.
  bool functions_are_held() const { return functions_.is_held(); }

  // What every step of this session starts from. The caller adds number, cancellation and resources of the step.
  StepContext NewStep();

 private:
  CompileOptions MakeCompileOptions();
  Status PlaceFunction(PrunedGraph* body) const;
  Status Place(bool allow_soft_placement, PrunedGraph* part) const;

  const SessionOptions options_;
  const Environment environment_;
  KernelCache kernels_;
  LocalFunctions functions_;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_SESSION_RUNTIME_H_
