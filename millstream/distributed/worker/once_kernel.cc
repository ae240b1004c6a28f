// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/once_kernel.h"

#include "millstream/distributed/worker/task_exchange.h"
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

// What is known of the step's other attempts; null if nobody repeats it. In loops a node runs more than once for a
// step.
StepUpdates* UpdatesOf(const KernelContext& ctx) {
  // Steps of a task's parts always have this exchange.
  const auto* exchange = static_cast<const TaskExchange*>(ctx.step().exchange);
  return exchange == nullptr || ctx.tag() != 0 ? nullptr : exchange->updates();
}

StepActs* ActsOf(const KernelContext& ctx) {
  const StepUpdates* updates = UpdatesOf(ctx);
  return updates == nullptr ? nullptr : updates->acts();
}

void Keep(KernelContext& ctx, StepActs::Act* act) {
  for (int i = 0; i < ctx.num_outputs(); ++i) act->results.push_back(*ctx.output(i));
}

void GiveAgain(KernelContext& ctx, const StepActs::Act& act) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, act.results[static_cast<size_t>(i)]);
}

// Of kernels that are OnceAStep.
class OnceActKernel final : public Kernel {
 public:
  explicit OnceActKernel(std::shared_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  Status Compute(KernelContext& ctx) override {
    StepActs* acts = ActsOf(ctx);
    if (acts == nullptr) return kernel_->Compute(ctx);
    StepActs::Act* act = nullptr;
    switch (acts->TryClaim(ctx.node_name(), &act)) {
      case StepActs::Turn::kAct: {
        Attempt attempt{acts, ctx.node_name()};
        RETURN_IF_ERROR(kernel_->Compute(ctx));
        Keep(ctx, act);
        attempt.acted = true;
        return OkStatus();
      }
      case StepActs::Turn::kDone:
        GiveAgain(ctx, *act);
        return OkStatus();
      case StepActs::Turn::kWait:
        break;
    }
    return errors::Unavailable("An earlier attempt of this step is at it");
  }

 private:
  // Ends the claim, also if the kernel throws because memory has run out.
  struct Attempt {
    ~Attempt() { acts->Ended(node, acted); }
    StepActs* const acts;
    const std::string& node;
    bool acted = false;
  };

  const std::shared_ptr<Kernel> kernel_;
};

class AsyncOnceActKernel final : public AsyncKernel {
 public:
  AsyncOnceActKernel(std::shared_ptr<Kernel> kernel, AsyncOnceAStep* same) : kernel_(std::move(kernel)), async_(same) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    if (StepActs* acts = ActsOf(ctx); acts != nullptr) return Try(ctx, acts->shared_from_this(), std::move(done));
    async_->ComputeAsync(ctx, std::move(done));
  }

 private:
  void Try(KernelContext& ctx, const std::shared_ptr<StepActs>& acts, Done done) {
    StepActs::Act* act = nullptr;
    const auto again = [this, &ctx, acts, done](const Status& status) {
      if (!status.ok()) return done(status);
      Try(ctx, acts, done);
    };
    switch (acts->Claim(ctx.node_name(), &act, ctx.cancellation(), ctx.step().pool, again)) {
      case StepActs::Turn::kAct: {
        const auto attempt = std::make_shared<Attempt>(acts, ctx.node_name());
        return async_->ComputeFrom(ctx, &act->progress, [&ctx, attempt, act, done = std::move(done)](Status status) {
          if (status.ok()) Keep(ctx, act);
          attempt->End(status.ok());
          done(std::move(status));
        });
      }
      case StepActs::Turn::kDone:
        GiveAgain(ctx, *act);
        async_->GivenAgain(ctx, act->progress);
        return done(OkStatus());
      case StepActs::Turn::kWait:
        return;
    }
  }

  // Ends the claim, also if the kernel throws because memory has run out.
  class Attempt {
   public:
    Attempt(std::shared_ptr<StepActs> acts, std::string node) : acts_(std::move(acts)), node_(std::move(node)) {}
    ~Attempt() { End(false); }
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    void End(bool acted) {
      if (const std::shared_ptr<StepActs> acts = std::move(acts_)) acts->Ended(node_, acted);
    }

   private:
    std::shared_ptr<StepActs> acts_;
    const std::string node_;
  };

  const std::shared_ptr<Kernel> kernel_;
  AsyncOnceAStep* const async_;  // the same
};

class OnceKernel final : public Kernel {
 public:
  OnceKernel(std::shared_ptr<Kernel> kernel, std::shared_ptr<const TrackedUpdates> tracked, size_t update,
             bool overwrites)
      : kernel_(std::move(kernel)),
        clock_(tracked->clock.get()),
        mark_(tracked->marks[update].get()),
        tracked_(std::move(tracked)),
        update_(update),
        overwrites_(overwrites) {}

  Status Compute(KernelContext& ctx) override {
    StepUpdates* updates = UpdatesOf(ctx);
    if (updates == nullptr) return Apply(ctx, 0);
    switch (updates->Claim(update_)) {
      case StepUpdates::Turn::kApply: {
        Attempt attempt{updates, update_};
        RETURN_IF_ERROR(Apply(ctx, updates->id()));
        attempt.applied = true;
        return OkStatus();
      }
      case StepUpdates::Turn::kPass:
        if (ctx.num_outputs() > 0) ctx.set_output_ref(0, ctx.input_ref(0));
        return OkStatus();
      case StepUpdates::Turn::kApplying:
        break;
    }
    return errors::Unavailable("An earlier attempt of this step is being applied");
  }

 private:
  // Ends the claim, also if the kernel throws because memory has run out.
  struct Attempt {
    ~Attempt() { updates->Applied(update, applied); }
    StepUpdates* const updates;
    const size_t update;
    bool applied = false;
  };

  Status Apply(KernelContext& ctx, uint64_t by) {
    RETURN_IF_ERROR(kernel_->Compute(ctx));
    if (overwrites_) {
      mark_->by.store(by, std::memory_order_relaxed);
      mark_->at.store(clock_->now.fetch_add(1, std::memory_order_acq_rel) + 1, std::memory_order_release);
    }
    return OkStatus();
  }

  const std::shared_ptr<Kernel> kernel_;
  UpdateClock* const clock_;
  OverwriteMark* const mark_;
  const std::shared_ptr<const TrackedUpdates> tracked_;  // owns the two above
  const size_t update_;
  const bool overwrites_;
};

bool IsReference(const Output& value) { return IsRef(value.node->output_type(value.index)); }

// The node of the variable that an update changes; null if the graph does not say.
const Node* VariableOf(const Node& update) {
  const Node* node = &update;
  for (int steps = 0; steps < 1000 && node->num_inputs() > 0; ++steps) {
    const Output& from = node->input(0);
    if (!IsReference(from) && from.dtype() != DType::kResource) return nullptr;
    node = from.node;
    const OpKind kind = KindOf(node->op().traits);
    if (kind == OpKind::kVariable) return node;
    if (kind != OpKind::kIdentity && !node->op().Has(OpTrait::kUpdates)) return nullptr;
  }
  return nullptr;
}

std::string KeyOf(const Node& variable) {
  std::string container, name;
  variable.GetAttr("container", &container).IgnoreError();
  variable.GetAttr("shared_name", &name).IgnoreError();
  return absl::StrCat(container, "\n", name.empty() ? variable.name() : name);
}

bool CanBePassedOver(const Node& node) {
  if (!node.op().Has(OpTrait::kUpdates) || node.num_inputs() == 0) return false;
  if (node.num_outputs() == 0) return true;
  return node.num_outputs() == 1 && IsRef(node.output_type(0)) && IsReference(node.input(0));
}

}  // namespace

OnceKernels::OnceKernels(AppliedUpdates* applied) : applied_(applied) { tracked_->clock = applied->clock(); }

std::shared_ptr<Kernel> OnceKernels::Wrap(const Node& node, std::shared_ptr<Kernel> kernel) {
  if (auto* async = dynamic_cast<AsyncOnceAStep*>(kernel.get()); async != nullptr) {
    tracked_->acts = true;
    return std::make_shared<AsyncOnceActKernel>(std::move(kernel), async);
  }
  if (dynamic_cast<OnceAStep*>(kernel.get()) != nullptr) {
    tracked_->acts = true;
    return std::make_shared<OnceActKernel>(std::move(kernel));
  }
  if (!CanBePassedOver(node) || dynamic_cast<AsyncKernel*>(kernel.get()) != nullptr) return kernel;
  const Node* variable = VariableOf(node);
  if (variable == nullptr) return kernel;
  const size_t number = tracked_->nodes.size();
  tracked_->nodes.push_back(node.name());
  tracked_->marks.push_back(applied_->MarkOf(KeyOf(*variable)));
  const bool overwrites = node.op().Has(OpTrait::kOverwrites);
  return std::make_shared<OnceKernel>(std::move(kernel), tracked_, number, overwrites);
}

std::shared_ptr<const TrackedUpdates> OnceKernels::updates() const {
  return tracked_->nodes.empty() && !tracked_->acts ? nullptr : tracked_;
}

}  // namespace millstream
