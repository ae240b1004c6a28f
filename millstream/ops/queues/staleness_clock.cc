// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/staleness_clock.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr size_t kMaxNames = 8;  // of missing workers in one message
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

StalenessClock::StalenessClock(Options options)
    : options_(std::move(options)),
      observed_(std::make_shared<ObservedClock>()),
      members_(static_cast<size_t>(options_.num_workers)) {
  observed_->name = options_.name;
  observed_->device = options_.device;
  observed_->bound = options_.bound;
  observed_->workers = options_.num_workers;
  if (options_.census) options_.census->Add(observed_);
}

Status StalenessClock::Check(int64_t worker) const {
  if (worker >= 0 && worker < options_.num_workers) return OkStatus();
  return errors::InvalidArgument("worker must be between 0 and ", options_.num_workers - 1, ": ", worker);
}

void StalenessClock::Join(int64_t worker, KernelContext& ctx, AsyncKernel::Done done) {
  Wait(worker, false, ctx, std::move(done));
}

void StalenessClock::Advance(int64_t worker, KernelContext& ctx, AsyncKernel::Done done) {
  Wait(worker, true, ctx, std::move(done));
}

void StalenessClock::Wait(int64_t worker, bool count, KernelContext& ctx, AsyncKernel::Done done) {
  if (const Status status = Check(worker); !status.ok()) return done(status);
  const auto call = ParkedCall::Park(ctx, std::move(done), "Waiting for slower workers was cancelled.",
                                     [self = Ref<StalenessClock>::Share(this)](const auto& c) { self->Withdraw(c); });
  if (call == nullptr) return;
  Waiters ready;
  {
    MutexLock lock(mu_);
    Admit(worker);
    Member& member = members_[static_cast<size_t>(worker)];
    if (count) {
      const bool was_slowest = member.clock++ == slowest_;
      if (was_slowest) FindSlowest();
    }
    if (!call->taken()) waiters_.push_back({call, worker, Clock::now()});
    Release(&ready);
    if (!waiters_.empty()) SetTimer();
  }
  Finish(ready, call.get());
}

// Other steps go on on threads of their own.
void StalenessClock::Finish(const Waiters& ready, const ParkedCall* own) {
  for (const Waiter& w : ready) {
    ThreadPool* const pool = w.call.get() == own ? nullptr : w.call->ctx().step().pool;
    if (pool == nullptr) {
      w.call->Finish(OkStatus());
    } else {
      pool->Schedule([call = w.call] { call->Finish(OkStatus()); });
    }
  }
}

// A worker that had left is behind nobody when it comes back.
void StalenessClock::Admit(int64_t worker) {
  Member& member = members_[static_cast<size_t>(worker)];
  if (member.active) return;
  const bool anybody = std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.active; });
  if (anybody) {
    member.active = true;
    member.clock = std::max(member.clock, slowest_);
  } else {
    std::fill(members_.begin(), members_.end(), Member());
  }
  FindSlowest();
}

void StalenessClock::FindSlowest() {
  bool found = false;
  for (const Member& m : members_) {
    if (!m.active) continue;
    slowest_ = found ? std::min(slowest_, m.clock) : m.clock;
    found = true;
  }
  observed_->slowest.store(slowest_, kRelaxed);
}

void StalenessClock::Release(Waiters* ready) {
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const auto next = std::next(it);
    const int64_t lead = members_[static_cast<size_t>(it->worker)].clock - slowest_;
    if (lead <= options_.bound && it->call->Take()) {
      it->call->ctx().set_output(0, Tensor::Scalar<int64_t>(lead));
      observed_->Count(lead);
      ready->splice(ready->end(), waiters_, it);
    }
    it = next;
  }
  observed_->waiting.store(static_cast<int64_t>(waiters_.size()), kRelaxed);
}

void StalenessClock::Withdraw(const std::shared_ptr<ParkedCall>& call) {
  MutexLock lock(mu_);
  waiters_.remove_if([&](const Waiter& w) { return w.call == call; });
  observed_->waiting.store(static_cast<int64_t>(waiters_.size()), kRelaxed);
}

Status StalenessClock::Leave(int64_t worker) {
  RETURN_IF_ERROR(Check(worker));
  Waiters ready;
  {
    MutexLock lock(mu_);
    members_[static_cast<size_t>(worker)].active = false;
    FindSlowest();
    Release(&ready);
  }
  Finish(ready, nullptr);
  return OkStatus();
}

// One timer for all that wait, so that a short wait costs no timer of its own.
void StalenessClock::SetTimer() {
  if (timer_set_) return;
  timer_set_ = true;
  timers_.Add(Clock::now() + options_.warn_after, [this] { Warn(); });
}

std::string StalenessClock::WhoIsMissing() const {
  std::vector<std::string> names;
  size_t count = 0;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].active || members_[i].clock != slowest_) continue;
    if (++count <= kMaxNames) names.push_back(absl::StrCat("worker ", i));
  }
  if (count > kMaxNames) names.push_back(absl::StrCat(count - kMaxNames, " more"));
  return absl::StrJoin(names, ", ");
}

void StalenessClock::Warn() {
  MutexLock lock(mu_);
  timer_set_ = false;
  if (waiters_.empty()) return;
  SetTimer();
  const Clock::time_point now = Clock::now();
  for (const Waiter& w : waiters_) {
    const auto waited = now - w.since;
    if (waited < options_.warn_after) continue;
    LogWarning(absl::StrCat("worker ", w.worker, " is at step ", members_[static_cast<size_t>(w.worker)].clock,
                            ", the staleness bound is ", options_.bound, ": waiting for ", WhoIsMissing(), " at step ",
                            slowest_, " (", std::chrono::duration_cast<std::chrono::seconds>(waited).count(), " s)"));
  }
}

}  // namespace millstream
