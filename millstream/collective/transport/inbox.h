// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TRANSPORT_INBOX_H_
#define MILLSTREAM_COLLECTIVE_TRANSPORT_INBOX_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "millstream/base/mutex.h"
#include "millstream/base/thread_policy.h"
#include "millstream/collective/transport/transport.h"
#include "millstream/tensor/tensor.h"

namespace millstream::collective {

// Messages larger than this are sent only once their receiver has said where they go, so that a receiver that is late
// need not store them.
inline constexpr size_t kEagerBytes = size_t{64} << 10;
// How much of what came early a rank stores for one group.
inline constexpr size_t kEarlyBytes = size_t{256} << 20;

// What a rank does while it waits; both may be empty.
struct Waiting {
  std::function<bool()> look;          // again and again, before it blocks: true if it has brought anything
  std::function<void()> before_block;  // others are to bring it
};

// Where messages to one rank in one epoch meet the receives that wait for them. Thread-safe.
class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  void Expect(int from, uint64_t tag, void* into, size_t bytes);
  Status Await(int from, uint64_t tag, Deadline deadline, const Waiting& waiting = {});

  // Memory for a message that is about to come: that of the receive that expects it, else new memory within the limits.
  StatusOr<Tensor> Reserve(int from, uint64_t tag, size_t bytes);
  // The message, in memory from Reserve() or of the sender's own. Never blocks.
  void Deliver(int from, uint64_t tag, Tensor message);

  // Forgets what `from` has sent and nobody has asked for yet, so that its memory is its own again.
  void DropEarly(int from);

  // Everything waits no longer and fails with this; the first reason counts. True if this was the first.
  bool Fail(const Status& why);
  Status status() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // After Fail(): waits until nobody writes into memory of receives any more. False at the deadline.
  bool AwaitQuiet(Deadline deadline);
  void OnFail(std::function<void(const Status&)> call);

 private:
  enum class State : uint8_t { kExpected, kArriving, kArrived, kEarly };
  struct Slot {
    State state = State::kExpected;
    void* into = nullptr;
    size_t bytes = 0;
    Tensor early;
  };
  using Key = std::pair<uint64_t, int>;

  void Land(Slot& slot, const Tensor& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FailLocked(const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Released();

  mutable Mutex mu_;
  CondVar cv_;
  std::map<Key, Slot> slots_ ABSL_GUARDED_BY(mu_);
  size_t early_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int arriving_ ABSL_GUARDED_BY(mu_) = 0;  // tensors around memory of receives that links hold
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  bool reported_ ABSL_GUARDED_BY(mu_) = false;  // Fail() has been called
  bool calling_ ABSL_GUARDED_BY(mu_) = false;
  Status why_ ABSL_GUARDED_BY(mu_);
  std::function<void(const Status&)> on_fail_ ABSL_GUARDED_BY(mu_);
  std::atomic<uint32_t> changes_{0};
  std::atomic<bool> failed_{false};
  CoreContention contention_{1'000'000};
};

// Counts the tensors around a sender's memory that a transport still holds. Thread-safe.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  // A tensor around the memory, for rank `to`; AwaitEmpty() waits until it is gone.
  Tensor Lend(int to, const void* data, size_t bytes);
  bool AwaitEmpty(Deadline deadline, const Waiting& waiting = {});
  // The error for those who have waited in vain: it names a rank that has not received its message.
  Status NotReceived();
  bool empty() const { return lent_.load(std::memory_order_acquire) == 0; }

 private:
  void Return(int to);

  std::atomic<int> lent_{0};
  Mutex mu_;
  CondVar cv_;
  std::map<int, int> lent_to_ ABSL_GUARDED_BY(mu_);
  CoreContention contention_{1'000'000};
};

// How long a rank looks for what it waits for before it blocks; waking a blocked thread takes longer than most
// messages.
inline constexpr int64_t kLookNanos = 100'000;

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_TRANSPORT_INBOX_H_
