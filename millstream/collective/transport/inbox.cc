// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/transport/inbox.h"

#include <cstring>

namespace millstream::collective {
namespace {

// Between two yields. Looks at sockets take longer: so many take as long as waking a thread twice.
constexpr int kLooks = 64, kServingLooks = 96;

bool IsPast(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

// True once `done()`, in the time before a rank blocks. A rank that serves its links does the work that it waits for:
// it looks while anything comes, and a little longer, whoever else wants the core.
template <typename Done>
bool Look(const Waiting& waiting, CoreContention* contention, Deadline deadline, const Done& done) {
  if (waiting.look == nullptr) return LookFor(LookWindow(kLookNanos, contention), kLooks, done);
  for (;;) {
    bool any = false;
    const auto look = [&] {
      any |= waiting.look();
      return done();
    };
    if (LookFor(LookWindow(kLookNanos, nullptr), kServingLooks, look)) return true;
    if (!any || IsPast(deadline)) return false;
  }
}

Tensor Around(void* data, size_t bytes, std::function<void()> release) {
  return Tensor::Wrap(DType::kUint8, Shape({static_cast<int64_t>(bytes)}), data, std::move(release));
}

}  // namespace

void Inbox::Changed() {
  changes_.fetch_add(1, std::memory_order_release);
  if (waiting_ > 0) cv_.NotifyAll();
}

void Inbox::FailLocked(const Status& why) {
  if (!why_.ok()) return;
  why_ = why;
  failed_.store(true, std::memory_order_release);
  slots_.clear();  // early messages hold memory of their senders
  early_bytes_ = 0;
  Changed();
  cv_.NotifyAll();
}

bool Inbox::Fail(const Status& why) {
  std::function<void(const Status&)> call;
  Status reason;
  {
    MutexLock lock(mu_);
    if (reported_) return false;
    reported_ = true;
    FailLocked(why);
    reason = why_;
    call = on_fail_;
    calling_ = call != nullptr;
  }
  if (call != nullptr) {
    call(reason);
    MutexLock lock(mu_);
    calling_ = false;
    cv_.NotifyAll();
  }
  return true;
}

Status Inbox::status() const {
  if (!failed()) return OkStatus();
  MutexLock lock(mu_);
  return why_;
}

void Inbox::OnFail(std::function<void(const Status&)> call) {
  Status why;
  {
    MutexLock lock(mu_);
    while (calling_) cv_.Wait(mu_);
    on_fail_ = call;
    if (reported_) why = why_;
  }
  if (!why.ok() && call != nullptr) call(why);
}

void Inbox::Land(Slot& slot, const Tensor& message) {
  if (message.ByteSize() != slot.bytes) {
    FailLocked(errors::Internal("A rank sent ", message.ByteSize(), " bytes where ", slot.bytes,
                                " were expected: the ranks do not run the same collective"));
    return;
  }
  if (message.raw() != slot.into && slot.bytes > 0) std::memcpy(slot.into, message.raw(), slot.bytes);
  slot.state = State::kArrived;
  Changed();
}

void Inbox::Expect(int from, uint64_t tag, void* into, size_t bytes) {
  Tensor early;  // released without the lock: that tells its sender
  MutexLock lock(mu_);
  if (!why_.ok()) return;
  const auto [it, is_new] = slots_.try_emplace(Key{tag, from});
  Slot& slot = it->second;
  slot.into = into;
  slot.bytes = bytes;
  if (is_new) return;
  if (slot.state != State::kEarly) return FailLocked(errors::Internal("A message was expected twice"));
  early = std::move(slot.early);
  early_bytes_ -= early.ByteSize();
  Land(slot, early);
}

StatusOr<Tensor> Inbox::Reserve(int from, uint64_t tag, size_t bytes) {
  MutexLock lock(mu_);
  if (!why_.ok()) return why_;
  const auto it = slots_.find(Key{tag, from});
  if (it == slots_.end()) {
    if (bytes > kEagerBytes || early_bytes_ + bytes > kEarlyBytes) {
      return errors::ResourceExhausted("A message of ", bytes, " bytes came before it was expected");
    }
    return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
  }
  Slot& slot = it->second;
  if (slot.state != State::kExpected || slot.bytes != bytes) {
    return errors::InvalidArgument("A message of ", bytes, " bytes came where ", slot.bytes, " were expected");
  }
  slot.state = State::kArriving;
  ++arriving_;
  return Around(slot.into, bytes, [self = shared_from_this()] { self->Released(); });
}

void Inbox::Released() {
  MutexLock lock(mu_);
  --arriving_;
  cv_.NotifyAll();
}

void Inbox::Deliver(int from, uint64_t tag, Tensor message) {
  Tensor dropped;  // declared before the lock: released after it
  MutexLock lock(mu_);
  if (!why_.ok()) {
    dropped = std::move(message);
    return;
  }
  const auto [it, is_new] = slots_.try_emplace(Key{tag, from});
  Slot& slot = it->second;
  if (is_new) {
    slot.state = State::kEarly;
    early_bytes_ += message.ByteSize();
    slot.early = std::move(message);
    return;
  }
  if (slot.state != State::kExpected && slot.state != State::kArriving) {
    return FailLocked(errors::Internal("A message came twice"));
  }
  Land(slot, message);
  dropped = std::move(message);
}

void Inbox::DropEarly(int from) {
  MutexLock lock(mu_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    const bool drop = it->first.second == from && it->second.state == State::kEarly;
    if (drop) early_bytes_ -= it->second.early.ByteSize();
    it = drop ? slots_.erase(it) : std::next(it);
  }
}

Status Inbox::Await(int from, uint64_t tag, Deadline deadline, const Waiting& waiting) {
  bool looked = false;
  for (;;) {
    const uint32_t changes = changes_.load(std::memory_order_acquire);
    {
      MutexLock lock(mu_);
      if (!why_.ok()) return why_;
      const auto it = slots_.find(Key{tag, from});
      if (it == slots_.end()) return errors::Internal("a receive for a message that was not registered");
      if (it->second.state == State::kArrived) {
        slots_.erase(it);
        return OkStatus();
      }
      if (looked && changes_.load(std::memory_order_relaxed) == changes) {
        ++waiting_;
        const bool notified = cv_.WaitUntil(mu_, deadline);
        --waiting_;
        if (!notified && IsPast(deadline)) return errors::DeadlineExceeded("no message from rank ", from);
        continue;
      }
    }
    looked =
        !Look(waiting, &contention_, deadline, [&] { return changes_.load(std::memory_order_acquire) != changes; });
    if (looked && waiting.before_block != nullptr) waiting.before_block();
  }
}

bool Inbox::AwaitQuiet(Deadline deadline) {
  MutexLock lock(mu_);
  while (arriving_ > 0) {
    if (!cv_.WaitUntil(mu_, deadline) && IsPast(deadline)) return arriving_ == 0;
  }
  return true;
}

Tensor Outbox::Lend(int to, const void* data, size_t bytes) {
  {
    MutexLock lock(mu_);
    ++lent_to_[to];
  }
  lent_.fetch_add(1, std::memory_order_relaxed);
  return Around(const_cast<void*>(data), bytes, [self = shared_from_this(), to] { self->Return(to); });
}

void Outbox::Return(int to) {
  MutexLock lock(mu_);
  if (--lent_to_[to] == 0) lent_to_.erase(to);
  if (lent_.fetch_sub(1, std::memory_order_acq_rel) == 1) cv_.NotifyAll();
}

Status Outbox::NotReceived() {
  MutexLock lock(mu_);
  if (lent_to_.empty()) return errors::DeadlineExceeded("a message was received late");
  return errors::DeadlineExceeded("rank ", lent_to_.begin()->first, " has not received a message");
}

bool Outbox::AwaitEmpty(Deadline deadline, const Waiting& waiting) {
  if (empty() || Look(waiting, &contention_, deadline, [this] { return empty(); })) return true;
  if (waiting.before_block != nullptr) waiting.before_block();
  MutexLock lock(mu_);
  while (!empty()) {
    if (!cv_.WaitUntil(mu_, deadline) && IsPast(deadline)) return empty();
  }
  return true;
}

}  // namespace millstream::collective
