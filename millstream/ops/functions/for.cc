// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "millstream/framework/op.h"
#include "millstream/ops/functions/function_call.h"

namespace millstream {
namespace {

// One execution of a For. As in While, whoever comes second, the caller of the body or its callback, goes on.
class Counting {
 public:
  Counting(KernelContext& ctx, std::shared_ptr<CompiledFunction> body, std::vector<Tensor> values, int64_t start,
           int64_t limit, int64_t delta, AsyncKernel::Done done)
      : ctx_(ctx),
        body_(std::move(body)),
        rets_(std::move(values)),
        limit_(limit),
        delta_(delta),
        next_(start),
        done_(std::move(done)) {}

  static void Run(const std::shared_ptr<Counting>& loop) {
    while (loop->Step(loop)) {
    }
  }

 private:
  // True if the body has finished already, and the loop goes on here.
  bool Step(const std::shared_ptr<Counting>& self) {
    if (!status_.ok()) return Finish(status_);
    if (delta_ > 0 ? next_ >= limit_ : next_ <= limit_) return Finish(OkStatus());
    if (ctx_.cancellation() != nullptr && ctx_.cancellation()->IsCancelled()) {
      return Finish(ctx_.cancellation()->status());
    }
    std::vector<Tensor> args = {Tensor::Scalar(static_cast<int32_t>(next_))};
    std::move(rets_.begin(), rets_.end(), std::back_inserter(args));
    next_ += delta_;
    rets_.clear();
    arrived_.store(false, std::memory_order_relaxed);
    ctx_.step().functions->RunAsync(*body_, ctx_.step(), std::move(args), &rets_, [self](Status status) {
      self->status_ = std::move(status);
      if (self->arrived_.exchange(true, std::memory_order_acq_rel)) Run(self);
    });
    return arrived_.exchange(true, std::memory_order_acq_rel);
  }

  bool Finish(const Status& status) {
    if (status.ok()) {
      for (int i = 0; i < ctx_.num_outputs(); ++i) ctx_.set_output(i, std::move(rets_[i]));
    }
    done_(status);
    return false;
  }

  KernelContext& ctx_;
  const std::shared_ptr<CompiledFunction> body_;
  std::vector<Tensor> rets_;
  const int64_t limit_, delta_;
  int64_t next_;
  const AsyncKernel::Done done_;
  Status status_;
  std::atomic<bool> arrived_{false};
};

class ForOp final : public AsyncKernel {
 public:
  explicit ForOp(KernelInit& init) : body_(init.Attr<NameAttrList>("body")) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    int64_t bounds[3];
    constexpr const char* kNames[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).rank() != 0) return done(errors::InvalidArgument(kNames[i], " must be a scalar"));
      bounds[i] = ctx.input(i).scalar<int32_t>();
    }
    const auto [start, limit, delta] = bounds;
    if (!((delta > 0 && start <= limit) || (delta < 0 && start >= limit) || start == limit)) {
      return done(errors::InvalidArgument("Invalid start/limit/delta: ", start, " ", limit, " ", delta));
    }
    const size_t n = static_cast<size_t>(ctx.num_inputs()) - 3;
    auto body = body_.Get(ctx, n + 1, CalledFunction::kAnyNumber);
    if (!body.ok()) return done(body.status());
    if (const size_t rets = (*body)->ret_types().size(); rets != n) {
      return done(errors::InvalidArgument("For loop body returned ", rets, " arguments. Expected: ", n));
    }
    std::vector<Tensor> values;
    for (size_t i = 0; i < n; ++i) values.push_back(ctx.TakeInput(static_cast<int>(i) + 3));
    Counting::Run(
        std::make_shared<Counting>(ctx, *std::move(body), std::move(values), start, limit, delta, std::move(done)));
  }

 private:
  CalledFunction body_;
};

Status ToBoolCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const bool value, AsCondition(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar(value));
  return OkStatus();
}

OP("For")
    .Input("start: int32")
    .Input("limit: int32")
    .Input("delta: int32")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: list(type) >= 0")
    .Attr("body: func")
    .Shape(UnknownShape)
    .Cpu<ForOp>()
    .Doc("Calls a function with a counter and its own results, once for each number of a range.");

OP("ToBool")
    .Input("input: T")
    .Output("output: bool")
    .Attr("T: type")
    .Shape(ScalarShape)
    .Cpu(ToBoolCpu)
    .Doc("A tensor read as a condition: a scalar is true unless zero or empty, others if they have elements.");

}  // namespace
}  // namespace millstream
