// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/run_state.h"

#include "millstream/runtime/recorded_steps.h"

namespace millstream {
namespace {

// Of one plan. More steps at once than this are rare, but a function may call itself many thousand times.
constexpr size_t kMaxFreeStates = 64;

}  // namespace

RunState::RunState(const Plan& plan) : num_slots(plan.control_flow ? 0 : plan.num_slots) {
  slots = std::make_unique<Entry[]>(static_cast<size_t>(num_slots));
  if (!plan.serial && !plan.control_flow) pending = std::make_unique<std::atomic<int32_t>[]>(plan.nodes.size());
}

RunState::~RunState() = default;

void RunState::Clear() {
  for (int32_t i = 0; i < num_slots; ++i) {
    slots[i].tensor.Reset();
    slots[i].ref = nullptr;
    slots[i].dead = false;
  }
}

Plan::Plan() = default;
Plan::~Plan() = default;

std::unique_ptr<RunState> Plan::TakeState() const {
  {
    MutexLock lock(mu_);
    if (!free_states_.empty()) {
      std::unique_ptr<RunState> state = std::move(free_states_.back());
      free_states_.pop_back();
      return state;
    }
  }
  return std::make_unique<RunState>(*this);
}

void Plan::ReturnState(std::unique_ptr<RunState> state) const {
  MutexLock lock(mu_);
  if (free_states_.size() < kMaxFreeStates) free_states_.push_back(std::move(state));
}

}  // namespace millstream
