// SPDX-License-Identifier: Apache-2.0
#include <list>

#include "millstream/framework/op.h"
#include "millstream/ops/resources/handle.h"

// Locks that steps share by name: what critical sections are made of.
namespace millstream {
namespace {

// A lock with a queue: those who wait get it in the order in which they came. Thread-safe.
class MutexResource final : public Resource {
 public:
  // Who holds the lock. It is free again when the last reference to this goes.
  class Lock final : public VariantValue {
   public:
    explicit Lock(Ref<MutexResource> mutex) : mutex_(std::move(mutex)) {}
    ~Lock() override { mutex_->Release(); }
    std::string type_name() const override { return "MutexLock"; }

   private:
    const Ref<MutexResource> mutex_;
  };

  std::string DebugString() const override { return "Mutex"; }

  // Gives the lock as output 0 of `ctx`, now or later.
  void Acquire(KernelContext& ctx, AsyncKernel::Done done) {
    auto waiter = std::make_shared<Waiter>();
    waiter->ctx = &ctx;
    waiter->done = std::move(done);
    {
      MutexLock lock(mu_);
      if (locked_) {
        Cancellation* const cancellation = ctx.cancellation();
        Ref<MutexResource> self = Ref<MutexResource>::Share(this);
        if (cancellation == nullptr ||
            cancellation->Register([self, waiter] { self->Withdraw(waiter); }, &waiter->token)) {
          waiters_.push_back(std::move(waiter));
          return;
        }
      } else {
        locked_ = true;
        waiter->granted = true;
      }
    }
    if (!waiter->granted) return waiter->done(errors::Cancelled("Lock acquisition cancelled."));
    Grant(*waiter);
  }

 private:
  struct Waiter {
    KernelContext* ctx = nullptr;
    AsyncKernel::Done done;
    Cancellation::Token token = -1;
    bool granted = false;
  };

  void Grant(Waiter& waiter) {
    waiter.ctx->set_output(0, Tensor::Scalar(Variant(MakeRef<Lock>(Ref<MutexResource>::Share(this)))));
    waiter.done(OkStatus());
  }

  void Release() {
    std::shared_ptr<Waiter> next;
    {
      MutexLock lock(mu_);
      // One whose cancellation is under way is left to Withdraw().
      while (!waiters_.empty() && next == nullptr) {
        std::shared_ptr<Waiter> first = waiters_.front();
        Cancellation* const cancellation = first->ctx->cancellation();
        if (cancellation != nullptr && !cancellation->TryDeregister(first->token)) {
          withdrawn_.splice(withdrawn_.end(), waiters_, waiters_.begin());
          continue;
        }
        next = std::move(first);
        waiters_.pop_front();
      }
      locked_ = next != nullptr;
    }
    if (next == nullptr) return;
    // Elsewhere: this runs where the last holder lets go, which may be anywhere.
    ThreadPool* const pool = next->ctx->step().pool;
    Ref<MutexResource> self = Ref<MutexResource>::Share(this);
    if (pool == nullptr) return Grant(*next);
    pool->Schedule([self, next] { self->Grant(*next); });
  }

  void Withdraw(const std::shared_ptr<Waiter>& waiter) {
    {
      MutexLock lock(mu_);
      const size_t before = waiters_.size() + withdrawn_.size();
      waiters_.remove(waiter);
      withdrawn_.remove(waiter);
      if (waiters_.size() + withdrawn_.size() == before) return;
    }
    waiter->done(errors::Cancelled("Lock acquisition cancelled."));
  }

  Mutex mu_;
  bool locked_ ABSL_GUARDED_BY(mu_) = false;
  std::list<std::shared_ptr<Waiter>> waiters_ ABSL_GUARDED_BY(mu_);
  std::list<std::shared_ptr<Waiter>> withdrawn_ ABSL_GUARDED_BY(mu_);
};

class MutexHandle final : public Kernel {
 public:
  explicit MutexHandle(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node_name();
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<MutexResource> mutex,
                     ctx.resources()->LookupOrCreate<MutexResource>(
                         container_, name_, []() -> StatusOr<Ref<MutexResource>> { return MakeRef<MutexResource>(); }));
    ctx.set_output(
        0, MakeHandle(*ctx.device(), container_, name_, "tensorflow::(anonymous namespace)::Mutex", std::move(mutex)));
    return OkStatus();
  }

 private:
  const std::string container_;
  std::string name_;
};

class MutexLockKernel final : public AsyncKernel {
 public:
  explicit MutexLockKernel(KernelInit&) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<Ref<MutexResource>> mutex = ctx.ResourceInput<MutexResource>(0);
    if (!mutex.ok()) return done(mutex.status());
    (*mutex)->Acquire(ctx, std::move(done));
  }
};

Status ConsumeCpu(KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  if (t.rank() != 0) return errors::InvalidArgument("Expected input to be a scalar, saw shape: ", t.shape().ToString());
  const auto* lock = t.scalar<Variant>().get<MutexResource::Lock>();
  if (lock == nullptr) {
    return errors::InvalidArgument("Expected input to contain a SharedLockReleaser object, but saw variant: '",
                                   t.scalar<Variant>().type_name(), "'");
  }
  if (!lock->RefIsOne()) return errors::InvalidArgument("Expected use count of lock to be 1");
  return OkStatus();
}

OP("MutexV2")
    .Output("resource: resource")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<MutexHandle>()
    .Doc("A lock that steps share.");

OP("MutexLock")
    .Input("mutex: resource")
    .Output("mutex_lock: variant")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<MutexLockKernel>()
    .Doc("Waits for a lock, which is held as long as anybody uses the output.");

OP("ConsumeMutexLock")
    .Input("mutex_lock: variant")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(ConsumeCpu)
    .Doc("Does nothing: whoever runs after it runs with the lock held.");

}  // namespace
}  // namespace millstream
