// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/local_session.h"

#include <array>

#include "millstream/base/random.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/step_stats.h"

namespace millstream {
namespace {

int Threads(int asked) { return asked > 0 ? asked : NumCores(); }

}  // namespace

struct LocalSession::Host {
  explicit Host(const SessionOptions& options)
      : intra_pool(Threads(options.intra_op_threads)),
        devices("/job:localhost/replica:0/task:0", options, RandomNumber() >> 1, &intra_pool) {
    if (options.inter_op_threads > 0 && options.inter_op_threads != options.intra_op_threads)
      inter_pool = std::make_unique<ThreadPool>(options.inter_op_threads);
  }
  ThreadPool* pool() { return inter_pool != nullptr ? inter_pool.get() : &intra_pool; }

  ThreadPool intra_pool;
  std::unique_ptr<ThreadPool> inter_pool;  // null: the intra-op pool serves both
  DeviceSet devices;
};

class LocalSession::RunningStep : public RegisteredStep {
 public:
  RunningStep(LocalSession* session, Cancellation* cancellation)
      : session_(session), cancellation_(cancellation), status_(session->steps_.Enter(this)) {}
  ~RunningStep() {
    if (status_.ok()) session_->steps_.Leave(this);
  }
  const Status& status() const { return status_; }
  void Cancel(const Status& why) { cancellation_->StartCancel(why); }

 private:
  LocalSession* const session_;
  Cancellation* const cancellation_;
  const Status status_;
};

LocalSession::LocalSession(const SessionOptions& options) : LocalSession(options, std::make_unique<Host>(options)) {}

LocalSession::LocalSession(const SessionOptions& options, std::unique_ptr<Host> host)
    : PlannedSession(options, host->devices.attributes()),
      host_(std::move(host)),
      runtime_(options, {.devices = &host_->devices,
                         .pool = host_->pool(),
                         .resources = &resources_,
                         .library = graph_.library(),
                         .inter_op_threads = Threads(options.inter_op_threads)}) {}

LocalSession::~LocalSession() {
  Close().IgnoreError();
  // Iterators have threads that call functions: they end while everything is still there.
  resources_.ClearAll();
  plans_.Clear();
}

Status LocalSession::Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                         const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
                         proto::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(PlanPtr plan, FindPlan(feeds, fetches, targets));
  constexpr size_t kFew = 16;
  std::vector<Tensor> unwanted;
  if (outputs == nullptr) outputs = &unwanted;
  if (feeds.size() <= kFew) {
    std::array<Tensor, kFew> args;
    for (size_t i = 0; i < feeds.size(); ++i) args[i] = feeds[i].second;
    return RunPlanStep(plan, options, std::span(args.data(), feeds.size()), outputs, metadata);
  }
  std::vector<Tensor> args;
  for (const auto& feed : feeds) args.push_back(feed.second);
  return RunPlanStep(plan, options, args, outputs, metadata);
}

Status LocalSession::RunPlanStep(const PlanPtr& plan, const RunOptions& options, std::span<const Tensor> args,
                                 std::vector<Tensor>* outputs, proto::RunMetadata* metadata) {
  Cancellation own;
  Cancellation* cancellation = options.cancellation != nullptr ? options.cancellation : &own;
  RunningStep running(this, cancellation);
  RETURN_IF_ERROR(running.status());
  ResourceManager step_resources("step");
  StepStatsCollector stats;
  StepContext step = NewStep();
  step.step_resources = &step_resources;
  step.cancellation = cancellation;
  step.stats = options.full_trace && metadata != nullptr ? &stats : nullptr;
  if (const int64_t timeout_ms = TimeoutMs(options); timeout_ms > 0)
    step.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  Status status = RunPlan(plan, step, args, outputs);
  if (step.stats != nullptr) stats.Export(metadata->mutable_step_stats());
  return status;
}

StepContext LocalSession::NewStep() {
  StepContext step = runtime_.NewStep();
  step.step_id = next_step_.fetch_add(1, std::memory_order_relaxed);
  return step;
}

Status LocalSession::RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                                 const RunOptions& options, proto::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(PlanPtr plan, plans_.FindCallable(handle));
  return RunPlanStep(plan, options, feeds, outputs, metadata);
}

Status LocalSession::StartPartial(PlanPtr plan, PartialStep* step) {
  RETURN_IF_ERROR(steps_.closed());
  step->Start(std::move(plan), NewStep());
  return OkStatus();
}

Status LocalSession::Close() {
  steps_.Close(errors::Cancelled("Session has been closed."));
  partial_.Close(errors::Cancelled("Session has been closed."));
  const Status why = errors::Cancelled("Step was cancelled by an explicit call to `Session::Close()`.");
  steps_.ForEach([&](RunningStep& step) { step.Cancel(why); });
  steps_.AwaitNone();
  return OkStatus();
}

}  // namespace millstream
