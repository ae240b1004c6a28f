// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_PLAN_FRAMES_H_
#define MILLSTREAM_RUNTIME_PLAN_FRAMES_H_

#include <vector>

#include "millstream/runtime/plan.h"

namespace millstream {

// Fills the control-flow part of a plan: which loop each node is in, slots by loop, edges with their ends. `index` maps
// node ids to plan nodes (-1: not run). InvalidArgument if the loops are not well formed.
Status PlanFrames(const std::vector<int32_t>& index, Plan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_PLAN_FRAMES_H_
