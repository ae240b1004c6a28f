// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/functions/function_call.h"

#include "millstream/tensor/dispatch.h"

namespace millstream {

StatusOr<std::shared_ptr<CompiledFunction>> CalledFunction::Get(KernelContext& ctx, size_t num_args, size_t num_rets) {
  std::shared_ptr<CompiledFunction> compiled;
  {
    MutexLock lock(mu_);
    compiled = compiled_.lock();
  }
  if (compiled == nullptr) {
    if (ctx.step().functions == nullptr) return errors::Internal("No function library is provided.");
    ASSIGN_OR_RETURN(compiled, ctx.step().functions->Instantiate(function_));
    MutexLock lock(mu_);
    compiled_ = compiled;
  }
  if (compiled->arg_types().size() != num_args ||
      (num_rets != kAnyNumber && compiled->ret_types().size() != num_rets)) {
    return errors::InvalidArgument("Function ", function_.name, " takes ", compiled->arg_types().size(),
                                   " arguments and returns ", compiled->ret_types().size(),
                                   " values, but the call has ", num_args, " and ", num_rets);
  }
  return compiled;
}

void CallFunction(KernelContext& ctx, CalledFunction& function, int first, AsyncKernel::Done done) {
  const size_t num_args = static_cast<size_t>(ctx.num_inputs() - first);
  StatusOr<std::shared_ptr<CompiledFunction>> compiled =
      function.Get(ctx, num_args, static_cast<size_t>(ctx.num_outputs()));
  if (!compiled.ok()) return done(compiled.status());
  std::vector<Tensor> args;
  args.reserve(num_args);
  for (int i = first; i < ctx.num_inputs(); ++i) args.push_back(ctx.TakeInput(i));
  const CompiledFunction& body = **compiled;
  auto rets = std::make_shared<std::vector<Tensor>>();
  std::vector<Tensor>* const results = rets.get();
  ctx.step().functions->RunAsync(
      body, ctx.step(), std::move(args), results,
      [&ctx, keep = *std::move(compiled), rets = std::move(rets), done = std::move(done)](const Status& status) {
        if (!status.ok()) return done(status);
        for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move((*rets)[i]));
        done(OkStatus());
      });
}

StatusOr<bool> AsCondition(const Tensor& t) {
  if (t.rank() > 0) return t.num_elements() > 0;
  if (t.dtype() == DType::kBool) return t.scalar<bool>();
  if (t.dtype() == DType::kString) return !t.scalar<std::string>().empty();
  bool value = false;
  const bool known = DispatchOver(RealTypes{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    value = Compute<T>(t.scalar<T>()) != Compute<T>(0);
  });
  if (!known) return errors::InvalidArgument("Cannot use a value of type ", DTypeName(t.dtype()), " as a condition");
  return value;
}

}  // namespace millstream
