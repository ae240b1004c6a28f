// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/functions/function_call.h"

namespace millstream {
namespace {

// One execution of a While: condition and body in turn, each of which may
// finish on any thread. Whoever comes second, the caller of a function or its
// callback, goes on with the loop; so functions that finish at once do not pile
// up on the stack.
class Loop {
 public:
  Loop(KernelContext& ctx, std::shared_ptr<CompiledFunction> cond, std::shared_ptr<CompiledFunction> body,
       std::vector<Tensor> values, AsyncKernel::Done done)
      : ctx_(ctx), cond_(std::move(cond)), body_(std::move(body)), values_(std::move(values)), done_(std::move(done)) {}

  // A copy keeps the loop alive.
  static void Run(std::shared_ptr<Loop> loop) {  // NOLINT(performance-unnecessary-value-param)
    while (loop->Step(loop)) {
    }
  }

 private:
  // Starts the next function. True if it has finished already, and the loop
  // goes on here.
  bool Step(const std::shared_ptr<Loop>& self) {
    if (!status_.ok()) return Finish(status_);
    if (in_body_) {  // the body has finished
      values_ = std::move(rets_);
    } else if (started_) {
      const StatusOr<bool> more = AsCondition(rets_[0]);
      if (!more.ok()) return Finish(more.status());
      if (!*more) return Finish(OkStatus());
    }
    in_body_ = started_ && !in_body_;
    started_ = true;
    if (ctx_.cancellation() != nullptr && ctx_.cancellation()->IsCancelled())
      return Finish(ctx_.cancellation()->status());
    rets_.clear();
    arrived_.store(false, std::memory_order_relaxed);
    const CompiledFunction& function = in_body_ ? *body_ : *cond_;
    std::vector<Tensor> args = in_body_ ? std::move(values_) : values_;
    ctx_.step().functions->RunAsync(function, ctx_.step(), std::move(args), &rets_, [self](Status status) {
      self->status_ = std::move(status);
      if (self->arrived_.exchange(true, std::memory_order_acq_rel)) Run(self);
    });
    return arrived_.exchange(true, std::memory_order_acq_rel);
  }

  bool Finish(const Status& status) {
    if (status.ok()) {
      for (int i = 0; i < ctx_.num_outputs(); ++i) ctx_.set_output(i, std::move(values_[i]));
    }
    done_(status);
    return false;
  }

  KernelContext& ctx_;
  const std::shared_ptr<CompiledFunction> cond_, body_;
  std::vector<Tensor> values_, rets_;
  const AsyncKernel::Done done_;
  Status status_;
  bool started_ = false;
  bool in_body_ = false;
  std::atomic<bool> arrived_{false};
};

class WhileOp final : public AsyncKernel {
 public:
  explicit WhileOp(KernelInit& init) : cond_(init.Attr<NameAttrList>("cond")), body_(init.Attr<NameAttrList>("body")) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    const size_t n = static_cast<size_t>(ctx.num_inputs());
    auto cond = cond_.Get(ctx, n, CalledFunction::kAnyNumber);
    if (!cond.ok()) return done(cond.status());
    if (const size_t rets = (*cond)->ret_types().size(); rets != 1) {
      return done(errors::InvalidArgument("Expected a single scalar return value from cond, got ", rets, " tensors."));
    }
    auto body = body_.Get(ctx, n, CalledFunction::kAnyNumber);
    if (!body.ok()) return done(body.status());
    if (const size_t rets = (*body)->ret_types().size(); rets != n) {
      return done(errors::InvalidArgument("While loop body returned ", rets, " arguments. Expected: ", n));
    }
    std::vector<Tensor> values;
    for (size_t i = 0; i < n; ++i) values.push_back(ctx.TakeInput(static_cast<int>(i)));
    Loop::Run(std::make_shared<Loop>(ctx, *std::move(cond), *std::move(body), std::move(values), std::move(done)));
  }

 private:
  CalledFunction cond_, body_;
};

// What a loop carries may change its shape, so only attributes and handles
// tell.
Status WhileShape(ShapeContext& c) {
  AttrValue::Shapes shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (!shapes.empty() && static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as num outputs (", shapes.size(), " vs. ",
                                   c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!shapes.empty()) c.set_output(i, shapes[i]);
    if (c.input_handle_dtype(i) != DType::kInvalid)
      c.set_output_handle(i, c.input_handle_shape(i), c.input_handle_dtype(i));
  }
  return OkStatus();
}

void WhileAttrs(OpBuilder& op) {
  op.Input("input: T")
      .Output("output: T")
      .Attr("T: list(type) >= 0")
      .Attr("cond: func")
      .Attr("body: func")
      .Attr("output_shapes: list(shape) = []")
      .Attr("parallel_iterations: int = 10");
}

OP("While")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kEffectsOnly)
    .Trait(KindTrait(OpKind::kWhile))
    .With(WhileAttrs)
    .Stateful()
    .Shape(WhileShape)
    .Cpu<WhileOp>()
    .HostMemory(kAllArgs)
    .Doc("Calls a function on its own results while another one says so.");

OP("StatelessWhile")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kWhile))
    .With(WhileAttrs)
    .Shape(WhileShape)
    .Cpu<WhileOp>()
    .HostMemory(kAllArgs)
    .Doc("While for functions without effects.");

}  // namespace
}  // namespace millstream
