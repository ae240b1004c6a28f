// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/captured_function.h"

#include "millstream/base/memory_budget.h"

namespace millstream {

StatusOr<CapturedFunction> CapturedFunction::FromInputs(KernelContext& ctx, const NameAttrList& function, int begin,
                                                        int end) {
  std::vector<Tensor> captured;
  for (int i = begin; i < end; ++i) captured.push_back(ctx.input(i));
  return CapturedFunction(function, std::move(captured));
}

StatusOr<CapturedFunction::Instance> CapturedFunction::Instantiate(const StepContext& owner,
                                                                   const std::vector<DType>& arg_types) const {
  if (owner.functions == nullptr) return errors::Internal("No function library is provided.");
  Instance instance;
  instance.owner_ = &owner;
  instance.captured_ = captured_;
  ASSIGN_OR_RETURN(instance.compiled_, owner.functions->Instantiate(function_));
  std::vector<DType> types = arg_types;
  for (const Tensor& t : captured_) types.push_back(t.dtype());
  if (types != instance.compiled_->arg_types()) {
    return errors::InvalidArgument("Function ", function_.name,
                                   " takes other arguments than the elements of the dataset: it has ",
                                   instance.compiled_->arg_types().size(), ", and is given ", types.size());
  }
  return instance;
}

Element CapturedFunction::Instance::AllArgs(const Element& args) const {
  Element all = args;
  all.insert(all.end(), captured_.begin(), captured_.end());
  return all;
}

// Each call has a cancellation of its own below the caller's: an error ends the call, not the iterator.
Status CapturedFunction::Instance::Run(const StepContext& step, const Element& args, Element* rets) const {
  const AllocationsMayFail never(false);  // `own` must not stay registered
  Cancellation own;
  Cancellation::Token token = -1;
  Cancellation* const parent = step.cancellation;
  if (parent != nullptr && !parent->Register([&own] { own.StartCancel(); }, &token)) return parent->status();
  ResourceManager step_resources("step");
  StepContext call = *owner_;
  call.step_resources = &step_resources;
  call.cancellation = &own;
  const Status status = owner_->functions->Run(*compiled_, call, AllArgs(args), rets);
  if (parent != nullptr) parent->Deregister(token);
  return status;
}

void CapturedFunction::Instance::RunAsync(const Element& args, Element* rets, std::function<void(Status)> done) const {
  const AllocationsMayFail never(false);  // `done` must be called
  struct Call {
    ResourceManager step_resources{"step"};
    Cancellation cancellation;
    Cancellation::Token token = -1;
    StepContext step;
    Element args;
  };
  auto call = std::make_shared<Call>();
  call->step = *owner_;
  call->step.step_resources = &call->step_resources;
  call->step.cancellation = &call->cancellation;
  call->args = AllArgs(args);
  Cancellation* const parent = owner_->cancellation;
  if (parent != nullptr && !parent->Register([call] { call->cancellation.StartCancel(); }, &call->token)) {
    return done(parent->status());
  }
  auto start = [this, parent, call, rets, done = std::move(done)] {
    owner_->functions->RunAsync(*compiled_, call->step, std::move(call->args), rets,
                                [parent, call, done](const Status& status) {
                                  // May run within the parent's StartCancel(), so it must not wait for it.
                                  if (parent != nullptr) parent->TryDeregister(call->token);
                                  done(status);
                                });
  };
  if (owner_->pool != nullptr)
    owner_->pool->Schedule(std::move(start));
  else
    start();
}

StatusOr<AccessPtr> CapturedFunction::MakeAccess(const Dataset& input, const StepContext& owner) const {
  ASSIGN_OR_RETURN(Instance function, Instantiate(owner, input.types()));
  ASSIGN_OR_RETURN(AccessPtr from, input.MakeAccess(owner));
  return MakeAccessBy(
      [from = std::move(from), function = std::move(function)](const StepContext& step, int64_t i, Element* element) {
        Element args;
        RETURN_IF_ERROR(from->Get(step, i, &args));
        return function.Run(step, args, element);
      });
}

Status EndOrError(const Status& status, bool preserve_cardinality, bool* end) {
  if (!absl::IsOutOfRange(status)) return status;
  if (preserve_cardinality) {
    return errors::InvalidArgument("Function invocation produced OutOfRangeError: ", status.message());
  }
  *end = true;
  return OkStatus();
}

}  // namespace millstream
