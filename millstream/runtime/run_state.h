// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_RUN_STATE_H_
#define MILLSTREAM_RUNTIME_RUN_STATE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "millstream/runtime/plan.h"

namespace millstream {

// What one running step needs: value slots and pending counts. Belongs to a plan; reused from step to step.
class RunState {
 public:
  explicit RunState(const Plan& plan);
  ~RunState();

  // Drops every value.
  void Clear();

  std::unique_ptr<Entry[]> slots;
  std::unique_ptr<std::atomic<int32_t>[]> pending;
  int32_t num_slots;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_RUN_STATE_H_
