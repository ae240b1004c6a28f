// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_PARKED_CALL_H_
#define MILLSTREAM_OPS_RESOURCES_PARKED_CALL_H_

#include <atomic>
#include <functional>
#include <memory>

#include "millstream/framework/kernel.h"

namespace millstream {

// A call of an AsyncKernel that waits for other steps. It ends once: by whoever takes it first, or by the cancellation
// of its step. Thread-safe.
class ParkedCall {
 public:
  using Withdraw = std::function<void(const std::shared_ptr<ParkedCall>&)>;

  // Null, and `done` has been called, if the step is cancelled already. `what` is what a cancelled call says;
  // `withdraw` takes a cancelled call away from where it waits, before its step goes on.
  static std::shared_ptr<ParkedCall> Park(KernelContext& ctx, AsyncKernel::Done done, const char* what,
                                          Withdraw withdraw) {
    std::shared_ptr<ParkedCall> call(new ParkedCall(ctx, std::move(done)));
    if (ctx.cancellation() == nullptr) return call;
    const auto cancel = [call, what, withdraw = std::move(withdraw)] {
      if (!call->Take()) return;
      withdraw(call);
      call->done_(errors::Cancelled(what));
    };
    if (ctx.cancellation()->Register(cancel, &call->token_)) return call;
    call->done_(errors::Cancelled(what));
    return nullptr;
  }

  // True for one caller, who has to end the call. Until then `ctx` lives.
  bool Take() { return !taken_.exchange(true); }
  // Where `withdraw` takes a lock, a call that is not taken under that lock lives as long as the lock is held.
  bool taken() const { return taken_; }
  KernelContext& ctx() { return ctx_; }
  void Finish(Status status) {
    if (ctx_.cancellation() != nullptr) ctx_.cancellation()->TryDeregister(token_);
    done_(std::move(status));
  }

 private:
  ParkedCall(KernelContext& ctx, AsyncKernel::Done done) : ctx_(ctx), done_(std::move(done)) {}
  KernelContext& ctx_;
  const AsyncKernel::Done done_;
  Cancellation::Token token_ = -1;
  std::atomic<bool> taken_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_PARKED_CALL_H_
