// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_ONCE_A_STEP_H_
#define MILLSTREAM_FRAMEWORK_ONCE_A_STEP_H_

#include <cstdint>
#include <utility>

#include "millstream/framework/kernel.h"

namespace millstream {

// A kernel that takes from, or puts into, something that other steps share. When its step is repeated after an outage,
// a task does not run it again, but gives the results of the attempt that ran it
// (docs/adr/0044-takes-of-repeated-steps.md).
class OnceAStep {
 public:
  virtual ~OnceAStep() = default;
};

// A plain function as such a kernel.
template <Status (*F)(KernelContext&)>
class OnceAStepFunction final : public Kernel, public OnceAStep {
 public:
  explicit OnceAStepFunction(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return F(ctx); }
};

// One that may wait.
class AsyncOnceAStep : public AsyncKernel {
 public:
  // As ComputeAsync(). `progress`: where it begins, and how far it came, in a unit of its own; 0 at the first attempt.
  // Whoever gives it reads it once `done` was called, with an error or without. Null: nobody repeats the step.
  virtual void ComputeFrom(KernelContext& ctx, int64_t* progress, Done done) = 0;
  // The results of an earlier attempt, which came to `progress`, were given again.
  virtual void GivenAgain(KernelContext& /*ctx*/, int64_t /*progress*/) {}

  void ComputeAsync(KernelContext& ctx, Done done) final { ComputeFrom(ctx, nullptr, std::move(done)); }
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ONCE_A_STEP_H_
