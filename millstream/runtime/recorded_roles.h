// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_RECORDED_ROLES_H_
#define MILLSTREAM_RUNTIME_RECORDED_ROLES_H_

#include <optional>
#include <utility>
#include <vector>

#include "millstream/framework/accelerator.h"
#include "millstream/runtime/plan.h"

namespace millstream::internal {

// How the nodes of a plan are run when its device part is recorded. Indices into Plan::nodes, in topological order.
//
// A step that is issued or recorded runs `before`, `middle`, `downloads` and `after`. A step that launches a recording
// runs `before` and `uploads`, launches, and then runs `downloads` and `after`; what the device part and the host
// computed from shapes alone is as it was when the step was recorded.
struct NodeRoles {
  Accelerator* device = nullptr;
  std::vector<int32_t> before;     // on the host, and variables
  std::vector<int32_t> middle;     // uploads, the device part, and what the host computes from its shapes
  std::vector<int32_t> uploads;    // _CopyToDevice of what may differ from step to step
  std::vector<int32_t> downloads;  // _CopyToHost
  std::vector<int32_t> after;      // on the host; need values of the device
  // Ranges of `middle` whose nodes may run side by side: updates of different variables.
  std::vector<std::pair<size_t, size_t>> parallel;
  // Slots that the device part reads on the host, variables among them: a recording is good for their values alone.
  std::vector<int32_t> host_inputs;
  // Slots that the device part or shapes fill, and that downloads, `after` or fetches read.
  std::vector<int32_t> kept;
};

// Nothing if the plan has no such order, more than one accelerator, control flow, or kernels that wait or cannot be
// repeated.
std::optional<NodeRoles> FindRoles(const Plan& plan);

}  // namespace millstream::internal

#endif  // MILLSTREAM_RUNTIME_RECORDED_ROLES_H_
