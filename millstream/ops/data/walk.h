// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_WALK_H_
#define MILLSTREAM_OPS_DATA_WALK_H_

#include <functional>

#include "millstream/ops/data/dataset.h"

namespace millstream {

// Runs body(owner) on a thread of its own, since it may wait; iterators of `owner` must end within it.
void WalkInBackground(KernelContext& ctx, AsyncKernel::Done done, std::function<Status(const StepContext&)> body);

// Calls take(element) for all elements of a dataset in order, from an iterator of its own, until one call fails or the
// step is cancelled.
Status ForEachElement(const Dataset& dataset, const StepContext& owner, const std::function<Status(Element)>& take);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_WALK_H_
