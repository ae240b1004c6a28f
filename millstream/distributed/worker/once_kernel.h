// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_ONCE_KERNEL_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_ONCE_KERNEL_H_

#include <memory>

#include "millstream/distributed/worker/applied_updates.h"
#include "millstream/framework/kernel.h"
#include "millstream/graph/graph.h"

namespace millstream {

// Kernels of a part that update variables, or take from and put into what steps share, each with the rule that it acts
// once for a step of a client, however often the step is repeated. Updates that cannot be passed over stay as they are:
// their results are more than the variable itself, or the variable is known only when they run.
class OnceKernels {
 public:
  explicit OnceKernels(AppliedUpdates* applied);

  // For CompileOptions::wrap.
  std::shared_ptr<Kernel> Wrap(const Node& node, std::shared_ptr<Kernel> kernel);
  // Null if there are none. Call it when all are wrapped.
  std::shared_ptr<const TrackedUpdates> updates() const;

 private:
  AppliedUpdates* const applied_;
  const std::shared_ptr<TrackedUpdates> tracked_ = std::make_shared<TrackedUpdates>();
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_ONCE_KERNEL_H_
