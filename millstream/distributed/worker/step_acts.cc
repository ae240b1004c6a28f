// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/step_acts.h"

#include <utility>

namespace millstream {

StepActs::Turn StepActs::ClaimLocked(State& state, Act** act) {
  if (state.acting) return Turn::kWait;
  *act = &state.act;
  if (state.acted) return Turn::kDone;
  state.acting = true;
  return Turn::kAct;
}

StepActs::Turn StepActs::TryClaim(const std::string& node, Act** act) {
  MutexLock lock(mu_);
  return ClaimLocked(states_[node], act);
}

StepActs::Turn StepActs::Claim(const std::string& node, Act** act, Cancellation* cancellation, ThreadPool* pool,
                               std::function<void(Status)> again) {
  std::shared_ptr<Waiter> waiter;
  {
    MutexLock lock(mu_);
    State& state = states_[node];
    const Turn turn = ClaimLocked(state, act);
    if (turn != Turn::kWait) return turn;
    waiter = std::make_shared<Waiter>(Waiter{cancellation, pool, std::move(again)});
    state.waiters.push_back(waiter);
    // Callbacks run without the cancellation's lock, so taking it under ours is safe.
    if (cancellation == nullptr ||
        cancellation->Register([self = shared_from_this(), node, waiter] { self->GiveUp(node, waiter); },
                               &waiter->token))
      return Turn::kWait;
  }
  GiveUp(node, waiter);
  return Turn::kWait;
}

void StepActs::GiveUp(const std::string& node, const std::shared_ptr<Waiter>& waiter) {
  {
    MutexLock lock(mu_);
    if (std::exchange(waiter->told, true)) return;
    states_[node].waiters.remove(waiter);
  }
  waiter->again(waiter->cancellation->status());
}

void StepActs::Ended(const std::string& node, bool acted) {
  Waiters waiters;
  {
    MutexLock lock(mu_);
    State& state = states_[node];
    state.acting = false;
    state.acted = acted;
    waiters.swap(state.waiters);
    for (const std::shared_ptr<Waiter>& waiter : waiters) waiter->told = true;
  }
  for (const std::shared_ptr<Waiter>& waiter : waiters) {
    if (waiter->token >= 0) waiter->cancellation->TryDeregister(waiter->token);
    auto call = [waiter] { waiter->again(OkStatus()); };
    if (waiter->pool == nullptr)
      call();
    else
      waiter->pool->Schedule(std::function<void()>(std::move(call)));
  }
}

bool StepActs::empty() const {
  MutexLock lock(mu_);
  return states_.empty();
}

}  // namespace millstream
