// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_CANCELLATION_H_
#define MILLSTREAM_BASE_CANCELLATION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream {

// Tells whatever a step is waiting in that the step is over. Thread-safe.
//
// A waiter registers a callback, and takes it back when its wait ends. StartCancel() runs all registered callbacks,
// once.
class Cancellation {
 public:
  using Token = int64_t;
  using Callback = std::function<void()>;

  // False, without keeping the callback, if already cancelled: the caller gives up by itself.
  bool Register(Callback callback, Token* token);
  // True if the callback was removed before it ran. Otherwise it has run or is about to; the call then waits until it
  // has finished, so afterwards the callback's objects may go. Must not be called from within a callback.
  bool Deregister(Token token);
  // As Deregister(), but never waits.
  bool TryDeregister(Token token);

  // `reason` is what waiters report; the first one wins.
  void StartCancel(Status reason = absl::CancelledError("Step was cancelled"));
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // OK until cancelled.
  Status status() const;

 private:
  mutable Mutex mu_;
  CondVar callbacks_done_;
  std::atomic<bool> cancelled_{false};
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  Token next_ ABSL_GUARDED_BY(mu_) = 0;
  Status reason_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<Token, Callback> callbacks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_CANCELLATION_H_
