// SPDX-License-Identifier: Apache-2.0
// Calls of different steps joined to batches: once through a part of the graph (Batch, with Unbatch behind it) or
// through a function.
#include "millstream/base/random.h"
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/functions/function_call.h"
#include "millstream/ops/queues/batch_queue.h"

namespace millstream {
namespace {

constexpr char kBatchCancelled[] = "Batching was cancelled.";

// What both kernels share: the queue, shared by name.
class BatchingKernel : public AsyncKernel {
 protected:
  explicit BatchingKernel(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    StatusOr<BatchOptions> options = BatchOptions::Read(init.attrs());
    init.Check(options.status());
    if (options.ok()) options_ = *std::move(options);
    if (name_.empty()) name_ = init.node_name();
    const auto queue = init.Attr<std::string>("batching_queue");
    name_ = absl::StrCat(name_, "/", queue.empty() ? init.node_name() : queue);
  }

  StatusOr<Ref<BatchQueue>> Queue(KernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<BatchQueue>(
        container_, name_, [&]() -> StatusOr<Ref<BatchQueue>> { return MakeRef<BatchQueue>(options_); });
  }

  // The first n inputs as a task, without a call.
  static StatusOr<BatchTask> TaskOf(KernelContext& ctx, int n) {
    BatchTask task;
    for (int i = 0; i < n; ++i) {
      const Tensor& in = ctx.input(i);
      if (in.rank() == 0) return errors::InvalidArgument("Batching input tensors must have at least one dimension");
      if (i > 0 && in.dim(0) != task.rows) {
        return errors::InvalidArgument(
            "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size");
      }
      task.rows = in.dim(0);
      task.inputs.push_back(in);
    }
    task.with_rows = task.inputs.size();
    task.id = static_cast<int64_t>(RandomNumber() >> 1);
    return task;
  }

  // Parks the call and gives its task to the queue.
  void Enqueue(KernelContext& ctx, BatchTask task, Done done) {
    const StatusOr<Ref<BatchQueue>> queue = Queue(ctx);
    if (!queue.ok()) return done(queue.status());
    task.call = ParkedCall::Park(ctx, std::move(done), kBatchCancelled,
                                 [queue = *queue](const std::shared_ptr<ParkedCall>& call) { queue->Withdraw(call); });
    const std::shared_ptr<ParkedCall> call = task.call;
    if (call == nullptr) return;
    const Status added = (*queue)->Add(std::move(task));
    if (!added.ok() && call->Take()) call->Finish(added);
  }

  // Input i of all tasks joined, and padded with copies of the first row to a number of rows that is allowed.
  StatusOr<Tensor> JoinInput(const BatchTasks& tasks, size_t i) const {
    std::vector<Tensor> parts;
    int64_t rows = 0;
    for (const BatchTask& task : tasks) {
      parts.push_back(task.inputs[i]);
      rows += task.rows;
    }
    const auto fits = std::lower_bound(options_.allowed.begin(), options_.allowed.end(), rows);
    const int64_t wanted = fits == options_.allowed.end() ? rows : *fits;
    if (rows > 0) parts.insert(parts.end(), static_cast<size_t>(wanted - rows), FirstRow(tasks, i));
    return JoinRows(tasks.back().call->ctx(), parts);  // the one that is not done yet
  }

 private:
  static Tensor FirstRow(const BatchTasks& tasks, size_t i) {
    for (const BatchTask& task : tasks) {
      if (task.rows > 0) return task.inputs[i].SliceRows(0, 1);
    }
    return tasks[0].inputs[i];
  }

  const std::string container_;
  std::string name_;
  BatchOptions options_;
};

// Gives the batch to the last of its calls, with an index of whose rows are where; the others get no rows.
class Batch final : public BatchingKernel {
 public:
  explicit Batch(KernelInit& init) : BatchingKernel(init) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<BatchTask> task = TaskOf(ctx, ctx.num_inputs());
    if (!task.ok()) return done(task.status());
    task->work = [this](const BatchTasks& tasks, const std::function<void()>& finished) {
      for (size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].call->Finish(i + 1 < tasks.size() ? EmitNothing(tasks[i]) : EmitAll(tasks));
      }
      finished();
    };
    Enqueue(ctx, *std::move(task), std::move(done));
  }

 private:
  static Status EmitNothing(const BatchTask& task) {
    KernelContext& ctx = task.call->ctx();
    const int n = static_cast<int>(task.inputs.size());
    for (int i = 0; i < n; ++i) {
      Shape shape = task.inputs[static_cast<size_t>(i)].shape();
      shape.set_dim(0, 0);
      RETURN_IF_ERROR(ctx.AllocateOutput(i, shape).status());
    }
    RETURN_IF_ERROR(ctx.AllocateOutput(n, Shape({0, 3})).status());
    ctx.set_output(n + 1, Tensor::Scalar(task.id));
    return OkStatus();
  }

  Status EmitAll(const BatchTasks& tasks) const {
    KernelContext& ctx = tasks.back().call->ctx();
    const int n = static_cast<int>(tasks[0].inputs.size());
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(Tensor joined, JoinInput(tasks, static_cast<size_t>(i)));
      ctx.set_output(i, std::move(joined));
    }
    ASSIGN_OR_RETURN(Tensor * index, ctx.AllocateOutput(n, Shape({static_cast<int64_t>(tasks.size()), 3})));
    int64_t *to = index->data<int64_t>(), row = 0;
    for (const BatchTask& task : tasks) {
      *to++ = task.id;
      *to++ = row;
      *to++ = row += task.rows;
    }
    ctx.set_output(n + 1, Tensor::Scalar(tasks.back().id));
    return OkStatus();
  }
};

// Runs the function on the rows of several calls at once.
class BatchFunction final : public BatchingKernel {
 public:
  explicit BatchFunction(KernelInit& init) : BatchingKernel(init), function_(init.Attr<NameAttrList>("f")) {
    int begin = 0;
    init.InputRange("in_tensors", &begin, &num_in_);
  }

  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<BatchTask> task = TaskOf(ctx, num_in_);
    if (!task.ok()) return done(task.status());
    for (int i = num_in_; i < ctx.num_inputs(); ++i) task->inputs.push_back(ctx.input(i));
    task->work = [this](BatchTasks tasks, std::function<void()> finished) {
      Run(std::move(tasks), std::move(finished));
    };
    Enqueue(ctx, *std::move(task), std::move(done));
  }

 private:
  // One run of the function. It has a step of its own, which is cancelled when those of all its calls are.
  struct FunctionRun {
    BatchTasks tasks;
    std::function<void()> finished;
    std::shared_ptr<CompiledFunction> function;
    StepContext step;
    ResourceManager step_resources;
    Cancellation cancellation;
    std::atomic<int> wanted{0};
    std::vector<Cancellation::Token> tokens;
    int64_t rows = 0;  // of the batch, padding included
    std::vector<Tensor> rets;
  };

  void Run(BatchTasks tasks, std::function<void()> finished) {
    auto run = std::make_shared<FunctionRun>();
    run->tasks = std::move(tasks);
    run->finished = std::move(finished);
    KernelContext& ctx = run->tasks.back().call->ctx();
    std::vector<Tensor> args;
    Status status = Prepare(ctx, *run, &args);
    if (!status.ok()) return Finish(*run, status);
    run->step = ctx.step();
    run->step.step_resources = &run->step_resources;
    run->step.cancellation = &run->cancellation;
    run->step.deadline = std::chrono::steady_clock::time_point::max();
    run->step.stats = nullptr;
    WatchCancellations(run);
    ctx.step().functions->RunAsync(*run->function, run->step, std::move(args), &run->rets,
                                   [run](const Status& done) { Finish(*run, done); });
  }

  Status Prepare(KernelContext& ctx, FunctionRun& run, std::vector<Tensor>* args) {
    const size_t n = run.tasks.back().inputs.size();
    ASSIGN_OR_RETURN(run.function, function_.Get(ctx, n, static_cast<size_t>(ctx.num_outputs())));
    for (size_t i = 0; i < n; ++i) {
      if (i >= static_cast<size_t>(num_in_)) {
        args->push_back(run.tasks.back().inputs[i]);  // captured
        continue;
      }
      ASSIGN_OR_RETURN(Tensor joined, JoinInput(run.tasks, i));
      run.rows = joined.dim(0);
      args->push_back(std::move(joined));
    }
    return OkStatus();
  }

  static void WatchCancellations(const std::shared_ptr<FunctionRun>& run) {
    run->wanted = static_cast<int>(run->tasks.size());
    const auto give_up = [run] {
      if (run->wanted.fetch_sub(1) == 1) run->cancellation.StartCancel();
    };
    for (const BatchTask& task : run->tasks) {
      run->tokens.push_back(-1);
      Cancellation* const cancellation = task.call->ctx().cancellation();
      if (cancellation != nullptr && !cancellation->Register(give_up, &run->tokens.back())) give_up();
    }
  }

  // To each call its rows of what the function gave.
  static void Finish(FunctionRun& run, const Status& status) {
    for (size_t i = 0; i < run.tokens.size(); ++i) {
      Cancellation* const cancellation = run.tasks[i].call->ctx().cancellation();
      if (cancellation != nullptr) cancellation->TryDeregister(run.tokens[i]);
    }
    const Status checked = status.ok() ? CheckRows(run) : status;
    int64_t row = 0;
    for (BatchTask& task : run.tasks) {
      for (size_t k = 0; checked.ok() && k < run.rets.size(); ++k) {
        task.call->ctx().set_output(static_cast<int>(k), run.rets[k].SliceRows(row, row + task.rows));
      }
      row += task.rows;
      task.call->Finish(checked);
    }
    run.finished();
  }

  static Status CheckRows(const FunctionRun& run) {
    for (const Tensor& t : run.rets) {
      if (t.rank() == 0) return errors::FailedPrecondition("Batched output tensor has 0 dimensions");
      if (t.dim(0) == run.rows) continue;
      return errors::FailedPrecondition("Batched output tensor's 0th dimension does not equal the sum of the 0th ",
                                        "dimension sizes of the input tensors: ", t.dim(0), " vs. ", run.rows,
                                        " with padding");
    }
    return OkStatus();
  }

  CalledFunction function_;
  int num_in_ = 0;
};

PartialShape AnyRows(const PartialShape& shape) {
  PartialShape rows = shape;
  if (rows.rank_known() && rows.rank() > 0) rows.set_dim(0, -1);
  return rows;
}
Status BatchShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    PartialShape in;
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(i), 1, &in));
    c.set_output(i, AnyRows(in));
  }
  c.set_output(c.num_inputs(), PartialShape({-1, 3}));
  c.set_output(c.num_inputs() + 1, Shape());
  return OkStatus();
}

Status BatchGrad(GradContext& g) {
  const int n = g.node().num_inputs();
  for (int i = 0; i < n; ++i) {
    g.set_dx(i, g.Op("Unbatch", {g.dy(i), g.output(n), g.output(n + 1)},
                     {{"timeout_micros", g.Attr<int64_t>("grad_timeout_micros")},
                      {"shared_name", absl::StrCat("batch_gradient_", g.node().name(), "_", i)}}));
  }
  return g.status();
}

OP("Batch")
    .Input("in_tensors: T")
    .Output("batched_tensors: T")
    .Output("batch_index: int64")
    .Output("id: int64")
    .Attr("num_batch_threads: int")
    .Attr("max_batch_size: int")
    .Attr("max_enqueued_batches: int = 10")
    .Attr("batch_timeout_micros: int")
    .Attr("allowed_batch_sizes: list(int) = []")
    .Attr("grad_timeout_micros: int")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Attr("batching_queue: string = ''")
    .Attr("T: list(type) >= 1")
    .Shape(BatchShape)
    .Gradient(BatchGrad)
    .Cpu<Batch>()
    .Doc("Joins the rows of several steps: one of them gets all, the others none.");

OP("BatchFunction")
    .Input("in_tensors: Tin")
    .Input("captured_tensors: Tcaptured")
    .Output("out_tensors: Tout")
    .Attr("f: func")
    .Attr("num_batch_threads: int")
    .Attr("max_batch_size: int")
    .Attr("batch_timeout_micros: int")
    .Attr("max_enqueued_batches: int = 10")
    .Attr("allowed_batch_sizes: list(int) = []")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Attr("batching_queue: string = ''")
    .Attr("low_priority_max_batch_size: int = 0")
    .Attr("low_priority_batch_timeout_micros: int = 0")
    .Attr("low_priority_allowed_batch_sizes: list(int) = []")
    .Attr("low_priority_max_enqueued_batches: int = 0")
    .Attr(
        "mixed_priority_policy: {'low_priority_padding_with_max_batch_size', "
        "'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', 'priority_merge'} = "
        "'low_priority_padding_with_max_batch_size'")
    .Attr("batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'")
    .Attr("Tin: list(type) >= 1")
    .Attr("Tcaptured: list(type) >= 0")
    .Attr("Tout: list(type) >= 1")
    .Attr("enable_large_batch_splitting: bool = false")
    .Shape(UnknownShape)
    .Cpu<BatchFunction>()
    .Doc("Calls a function with the rows of several steps at once.");

}  // namespace
}  // namespace millstream
