// SPDX-License-Identifier: Apache-2.0
// The rows of a batch back to the steps that they came from, and their gradients the other way.
#include <map>
#include <set>

#include "millstream/base/timer_queue.h"
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/queues/batch_queue.h"

namespace millstream {
namespace {

constexpr char kUnbatchCancelled[] = "Unbatching was cancelled.";

// Whose rows are where: rows of (id, first row, row behind the last).
struct BatchPart {
  int64_t id, begin, end;
};
StatusOr<std::vector<BatchPart>> ReadIndex(const Tensor& index, int64_t rows) {
  if (index.rank() != 2 || index.dim(1) != 3) {
    return errors::InvalidArgument("Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: ",
                                   index.shape().ToString());
  }
  std::vector<BatchPart> parts;
  for (int64_t i = 0; i < index.dim(0); ++i) {
    const int64_t* at = index.data<int64_t>() + 3 * i;
    parts.push_back({at[0], at[1], at[2]});
    if (at[1] >= 0 && at[1] <= at[2] && at[2] <= rows) continue;
    return errors::InvalidArgument("Rows ", at[1], " to ", at[2], " of the index tensor are not among ", rows);
  }
  return parts;
}

// Where tensors and the calls that want them wait for each other. Thread-safe.
class UnbatchMeeting final : public Resource {
 public:
  explicit UnbatchMeeting(int32_t timeout_us) : timeout_us_(timeout_us) {}
  std::string DebugString() const override { return "UnbatchMeeting"; }

  // Brings tensors; then `call` waits for the one with `id`.
  void Meet(std::map<int64_t, Tensor> tensors, int64_t id, const std::shared_ptr<ParkedCall>& call) {
    std::vector<std::pair<std::shared_ptr<ParkedCall>, Tensor>> served;
    Status status;
    {
      MutexLock lock(mu_);
      for (auto& [key, tensor] : tensors) {
        if (!tensors_.emplace(key, Waiting<Tensor>{tensor, 0}).second) {
          status = errors::AlreadyExists("Multiple tensors returned for same batch key.");
        }
        Serve(key, &served);
      }
      if (status.ok() && !calls_.emplace(id, Waiting<std::shared_ptr<ParkedCall>>{call, 0}).second) {
        status = errors::AlreadyExists("Multiple session runs with the same batch key.");
      }
      if (status.ok()) Serve(id, &served);
      SetTimers(tensors, id, call);
    }
    for (auto& [waiting, tensor] : served) {
      if (!waiting->Take()) continue;
      waiting->ctx().set_output(0, std::move(tensor));
      waiting->Finish(OkStatus());
    }
    if (!status.ok() && call->Take()) call->Finish(status);
  }

  void Withdraw(int64_t id, const std::shared_ptr<ParkedCall>& call) {
    MutexLock lock(mu_);
    const auto it = calls_.find(id);
    if (it == calls_.end() || it->second.what != call) return;
    timers_.Cancel(it->second.timer, /*wait=*/false);
    calls_.erase(it);
  }

 private:
  template <typename T>
  struct Waiting {
    T what;
    TimerQueue::Id timer;
  };
  using Served = std::vector<std::pair<std::shared_ptr<ParkedCall>, Tensor>>;

  // A call and its tensor that are both there leave.
  void Serve(int64_t id, Served* served) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto call = calls_.find(id);
    const auto tensor = tensors_.find(id);
    if (call == calls_.end() || tensor == tensors_.end()) return;
    timers_.Cancel(call->second.timer, /*wait=*/false);
    timers_.Cancel(tensor->second.timer, /*wait=*/false);
    served->emplace_back(std::move(call->second.what), std::move(tensor->second.what));
    calls_.erase(call);
    tensors_.erase(tensor);
  }

  // What is left of this call waits no longer than the timeout.
  void SetTimers(const std::map<int64_t, Tensor>& tensors, int64_t id, const std::shared_ptr<ParkedCall>& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto when = TimeoutAfter(timeout_us_);
    for (const auto& [key, tensor] : tensors) {
      const auto it = tensors_.find(key);
      if (it == tensors_.end() || it->second.timer != 0) continue;
      it->second.timer = timers_.Add(when, [this, key = key] {
        Tensor dropped;
        MutexLock lock(mu_);
        if (const auto late = tensors_.find(key); late != tensors_.end()) {
          dropped = std::move(late->second.what);
          tensors_.erase(late);
        }
      });
    }
    const auto it = calls_.find(id);
    if (it != calls_.end() && it->second.what == call) it->second.timer = timers_.Add(when, [this, id] { Expire(id); });
  }

  void Expire(int64_t id) {
    std::shared_ptr<ParkedCall> call;
    {
      MutexLock lock(mu_);
      const auto it = calls_.find(id);
      if (it == calls_.end()) return;
      call = std::move(it->second.what);
      calls_.erase(it);
    }
    if (!call->Take()) return;
    // Elsewhere: the step goes on in it, and may be what keeps this alive.
    ThreadPool* const pool = call->ctx().step().pool;
    (pool != nullptr ? pool : call->ctx().pool())->Schedule([call] {
      call->Finish(absl::DeadlineExceededError("Batched data did not arrive within timeout window."));
    });
  }

  const int32_t timeout_us_;
  Mutex mu_;
  std::map<int64_t, Waiting<Tensor>> tensors_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, Waiting<std::shared_ptr<ParkedCall>>> calls_ ABSL_GUARDED_BY(mu_);
  TimerQueue timers_;  // last: its thread uses what is above
};

class Unbatch final : public AsyncKernel {
 public:
  explicit Unbatch(KernelInit& init)
      : container_(init.Attr<std::string>("container")),
        name_(init.Attr<std::string>("shared_name")),
        timeout_us_(init.Attr<int>("timeout_micros")) {
    if (name_.empty()) name_ = init.node_name();
  }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    std::map<int64_t, Tensor> tensors;
    const Status status = Split(ctx, &tensors);
    if (!status.ok()) return done(status);
    const StatusOr<Ref<UnbatchMeeting>> meeting = ctx.resources()->LookupOrCreate<UnbatchMeeting>(
        container_, name_, [&]() -> StatusOr<Ref<UnbatchMeeting>> { return MakeRef<UnbatchMeeting>(timeout_us_); });
    if (!meeting.ok()) return done(meeting.status());
    const int64_t id = ctx.input(2).data<int64_t>()[0];
    const std::shared_ptr<ParkedCall> call =
        ParkedCall::Park(ctx, std::move(done), kUnbatchCancelled,
                         [meeting = *meeting, id](const auto& cancelled) { meeting->Withdraw(id, cancelled); });
    if (call != nullptr) (*meeting)->Meet(std::move(tensors), id, call);
  }

 private:
  static Status Split(const KernelContext& ctx, std::map<int64_t, Tensor>* tensors) {
    const Tensor &data = ctx.input(0), &index = ctx.input(1);
    if (data.rank() == 0) return errors::InvalidArgument("Unbatching a tensor needs at least one dimension");
    if (index.rank() > 0 && index.dim(0) > data.dim(0)) {
      return errors::InvalidArgument("Wrong shape for index tensor. Expected 0th dimension size to be no greater than ",
                                     data.dim(0), "; Got: ", index.dim(0), ".");
    }
    ASSIGN_OR_RETURN(const std::vector<BatchPart> parts, ReadIndex(index, data.dim(0)));
    if (ctx.input(2).rank() != 0) {
      return errors::InvalidArgument("Input id should be scalar; Got: ", ctx.input(2).DebugString(), ".");
    }
    for (const BatchPart& part : parts) {
      if (!tensors->emplace(part.id, data.SliceRows(part.begin, part.end)).second) {
        return errors::AlreadyExists("Multiple tensors returned for same batch key.");
      }
    }
    return OkStatus();
  }

  const std::string container_;
  std::string name_;
  const int32_t timeout_us_;
};

// Gradients of the parts of batches, until those of a whole batch are there. Thread-safe.
class UnbatchGradMeeting final : public Resource {
 public:
  std::string DebugString() const override { return "UnbatchGradMeeting"; }

  // Brings a gradient. With `parts`, the call waits for the gradients of all of them; without, it gets no rows.
  void Meet(int64_t id, const Tensor& grad, std::vector<BatchPart> parts, const std::shared_ptr<ParkedCall>& call) {
    std::vector<std::pair<std::shared_ptr<ParkedCall>, std::vector<Tensor>>> served;
    Status status;
    {
      MutexLock lock(mu_);
      if (!grads_.emplace(id, grad).second) status = errors::InvalidArgument("Two runs with the same batch key.");
      if (status.ok() && !parts.empty()) batches_.push_back({std::move(parts), call});
      std::erase_if(batches_, [&](const WaitingBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        const bool whole = std::all_of(batch.parts.begin(), batch.parts.end(),
                                       [&](const BatchPart& part)
                                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return grads_.contains(part.id); });
        if (!whole) return false;
        served.emplace_back(batch.call, std::vector<Tensor>());
        for (const BatchPart& part : batch.parts) {
          served.back().second.push_back(grads_[part.id]);
          grads_.erase(part.id);
        }
        return true;
      });
    }
    for (const auto& [waiting, tensors] : served) {
      if (!waiting->Take()) continue;
      StatusOr<Tensor> joined = JoinRows(waiting->ctx(), tensors);
      if (joined.ok()) waiting->ctx().set_output(0, *joined);
      waiting->Finish(joined.status());
    }
    if (!status.ok() && call->Take()) call->Finish(status);
  }

  void Withdraw(const std::shared_ptr<ParkedCall>& call) {
    MutexLock lock(mu_);
    std::erase_if(batches_, [&](const WaitingBatch& batch) { return batch.call == call; });
  }

 private:
  struct WaitingBatch {
    std::vector<BatchPart> parts;
    std::shared_ptr<ParkedCall> call;
  };
  Mutex mu_;
  std::map<int64_t, Tensor> grads_ ABSL_GUARDED_BY(mu_);
  std::vector<WaitingBatch> batches_ ABSL_GUARDED_BY(mu_);
};

class UnbatchGrad final : public AsyncKernel {
 public:
  explicit UnbatchGrad(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node_name();
  }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    const Tensor &data = ctx.input(0), &index = ctx.input(1), &grad = ctx.input(2), &id = ctx.input(3);
    if (id.rank() != 0) return done(errors::InvalidArgument("Expected `id` to be scalar. Received ", id.DebugString()));
    if (grad.rank() == 0) return done(errors::InvalidArgument("grad must have at least one dimension"));
    std::vector<BatchPart> parts;
    if (data.num_elements() > 0) {
      if (index.num_elements() == 0) {
        return done(errors::InvalidArgument("batch_index is empty while the tensor isn't."));
      }
      StatusOr<std::vector<BatchPart>> read = ReadIndex(index, data.rank() == 0 ? 0 : data.dim(0));
      if (!read.ok()) return done(read.status());
      parts = *std::move(read);
    } else {
      Shape shape = grad.shape();
      shape.set_dim(0, 0);
      const Status made = ctx.AllocateOutput(0, shape).status();
      if (!made.ok()) return done(made);
    }
    const StatusOr<Ref<UnbatchGradMeeting>> meeting = ctx.resources()->LookupOrCreate<UnbatchGradMeeting>(
        container_, name_, []() -> StatusOr<Ref<UnbatchGradMeeting>> { return MakeRef<UnbatchGradMeeting>(); });
    if (!meeting.ok()) return done(meeting.status());
    const bool waits = !parts.empty();
    const std::shared_ptr<ParkedCall> call =
        ParkedCall::Park(ctx, std::move(done), kUnbatchCancelled,
                         [meeting = *meeting](const auto& cancelled) { meeting->Withdraw(cancelled); });
    if (call == nullptr) return;
    (*meeting)->Meet(id.data<int64_t>()[0], grad, std::move(parts), call);
    if (!waits && call->Take()) call->Finish(OkStatus());
  }

 private:
  const std::string container_;
  std::string name_;
};

Status UnbatchShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &shape));
  if (shape.rank_known()) shape.set_dim(0, -1);
  c.set_output(0, shape);
  return OkStatus();
}
Status UnbatchGradShape(ShapeContext& c) {
  if (c.input(2).rank_known()) c.set_output(0, PartialShape::UnknownOfRank(c.input(2).rank()));
  return OkStatus();
}
Status UnbatchGradient(GradContext& g) {
  g.set_dx(0, g.Op("UnbatchGrad", {g.input(0), g.input(1), g.dy(0), g.input(2)},
                   {{"shared_name", absl::StrCat("unbatch_gradient_", g.node().name())}}));
  return g.status();
}

OP("Unbatch")
    .Input("batched_tensor: T")
    .Input("batch_index: int64")
    .Input("id: int64")
    .Output("unbatched_tensor: T")
    .Attr("timeout_micros: int")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Attr("T: type")
    .Shape(UnbatchShape)
    .Gradient(UnbatchGradient)
    .Cpu<Unbatch>()
    .Doc("The rows of this step, out of a batch that maybe another step has.");

OP("UnbatchGrad")
    .Input("original_input: T")
    .Input("batch_index: int64")
    .Input("grad: T")
    .Input("id: int64")
    .Output("batched_grad: T")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Attr("T: type")
    .Shape(UnbatchGradShape)
    .NotDifferentiable()
    .Cpu<UnbatchGrad>()
    .Doc("The gradients of the steps of a batch, joined.");

}  // namespace
}  // namespace millstream
