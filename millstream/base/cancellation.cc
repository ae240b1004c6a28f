// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/cancellation.h"

namespace millstream {

bool Cancellation::Register(Callback callback, Token* token) {
  MutexLock lock(mu_);
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  *token = next_++;
  callbacks_.emplace(*token, std::move(callback));
  return true;
}

bool Cancellation::TryDeregister(Token token) {
  MutexLock lock(mu_);
  return callbacks_.erase(token) > 0;
}

bool Cancellation::Deregister(Token token) {
  MutexLock lock(mu_);
  if (callbacks_.erase(token) > 0) return true;
  while (running_) callbacks_done_.Wait(mu_);
  return false;
}

void Cancellation::StartCancel(Status reason) {
  std::unordered_map<Token, Callback> callbacks;
  {
    MutexLock lock(mu_);
    if (cancelled_.load(std::memory_order_relaxed)) return;
    reason_ = std::move(reason);
    running_ = true;
    callbacks.swap(callbacks_);
    cancelled_.store(true, std::memory_order_release);
  }
  for (auto& [token, callback] : callbacks) callback();
  MutexLock lock(mu_);
  running_ = false;
  callbacks_done_.NotifyAll();
}

Status Cancellation::status() const {
  MutexLock lock(mu_);
  return cancelled_.load(std::memory_order_relaxed) ? reason_ : OkStatus();
}

}  // namespace millstream
