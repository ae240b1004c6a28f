// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/core_placement.h"

namespace millstream {

OffCore::OffCore(int core) {
  // A kernel with more cores than a cpu_set_t holds refuses the call; such hosts have cores enough.
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
  narrowed_ = before_;
  CPU_CLR(core, &narrowed_);
  if (CPU_COUNT(&narrowed_) == 0 || CPU_EQUAL(&narrowed_, &before_)) return;
  active_ = sched_setaffinity(0, sizeof(narrowed_), &narrowed_) == 0;
}

OffCore::~OffCore() {
  cpu_set_t now;
  if (!active_ || sched_getaffinity(0, sizeof(now), &now) != 0 || !CPU_EQUAL(&now, &narrowed_)) return;
  sched_setaffinity(0, sizeof(before_), &before_);
}

}  // namespace millstream
