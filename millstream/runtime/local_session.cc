// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/local_session.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "millstream/base/notification.h"
#include "millstream/base/random.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/graph/placement/placement.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/step_stats.h"

namespace millstream {
namespace {

int Threads(int asked) { return asked > 0 ? asked : NumCores(); }

}  // namespace

class LocalSession::RunningStep {
 public:
  RunningStep(LocalSession* session, Cancellation* cancellation) : session_(session), cancellation_(cancellation) {
    MutexLock lock(session_->steps_mu_);
    if (session_->closed_) {
      status_ = errors::Cancelled("Session has been closed.");
      return;
    }
    session_->steps_.push_back(cancellation_);
  }
  ~RunningStep() {
    if (!status_.ok()) return;
    MutexLock lock(session_->steps_mu_);
    auto it = std::find(session_->steps_.begin(), session_->steps_.end(), cancellation_);
    *it = session_->steps_.back();
    session_->steps_.pop_back();
    if (session_->closed_ && session_->steps_.empty()) session_->steps_ended_.NotifyAll();
  }
  const Status& status() const { return status_; }

 private:
  LocalSession* const session_;
  Cancellation* const cancellation_;
  Status status_;
};

LocalSession::LocalSession(const SessionOptions& options)
    : options_(options),
      intra_pool_(std::make_unique<ThreadPool>(Threads(options.intra_op_threads))),
      kernels_(&resources_, nullptr) {
  if (options.inter_op_threads > 0 && options.inter_op_threads != options.intra_op_threads) {
    inter_pool_ = std::make_unique<ThreadPool>(options.inter_op_threads);
  }
  auto cpus = options.device_count.find("CPU");
  const int count = cpus == options.device_count.end() ? 1 : std::max(1, cpus->second);
  devices_ = MakeCpuDevices("/job:localhost/replica:0/task:0", count, RandomNumber() >> 1, intra_pool_.get());
  graph_ = std::make_unique<SessionGraph>(options_, ListDevices());
  functions_ = std::make_unique<LocalFunctions>(graph_->library(), MakeCompileOptions(),
                                                [this](PrunedGraph* p) { return Prepare(p); });
  kernels_.set_functions(functions_.get());
}

LocalSession::~LocalSession() {
  Close().IgnoreError();
  // Iterators have threads that call functions: they end while everything is still there.
  resources_.ClearAll();
}

CompileOptions LocalSession::MakeCompileOptions() {
  CompileOptions options;
  options.kernels = &kernels_;
  options.find_device = [this](absl::string_view name) { return FindDevice(name); };
  options.inter_op_threads = Threads(options_.inter_op_threads);
  return options;
}

Device* LocalSession::FindDevice(absl::string_view name) const {
  for (const auto& device : devices_) {
    if (device->name() == name) return device.get();
  }
  return nullptr;
}

Status LocalSession::Create(const proto::GraphDef& graph) { return graph_->Create(graph); }
Status LocalSession::Extend(const proto::GraphDef& graph) { return graph_->Extend(graph); }
Status LocalSession::Extend(const Graph& graph) { return graph_->Extend(graph); }

// What is left to do with a part of the graph before it is compiled.
Status LocalSession::Prepare(PrunedGraph* pruned) {
  RETURN_IF_ERROR(
      PlaceGraph(ListDevices(), {.allow_soft_placement = options_.allow_soft_placement}, pruned->graph.get()));
  return RewriteGraph(options_.rewrite, pruned);
}

StatusOr<LocalSession::PlanPtr> LocalSession::MakePlan(const std::vector<std::string>& feeds,
                                                       const std::vector<std::string>& fetches,
                                                       const std::vector<std::string>& targets) {
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_->PruneFor(feeds, fetches, targets));
  RETURN_IF_ERROR(Prepare(&pruned));
  return Compile(std::move(pruned), MakeCompileOptions());
}

StatusOr<LocalSession::PlanPtr> LocalSession::FindPlan(const Feeds& feeds, const std::vector<std::string>& fetches,
                                                       const std::vector<std::string>& targets) {
  return plans_.FindOrMake(feeds, fetches, targets, [&](const std::vector<std::string>& feed_names) {
    return MakePlan(feed_names, fetches, targets);
  });
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
  const int64_t timeout_ms = options.timeout_ms > 0 ? options.timeout_ms : options_.operation_timeout_ms;
  if (timeout_ms > 0) step.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  Status status = RunPlan(plan, step, args, outputs);
  if (step.stats != nullptr) stats.Export(metadata->mutable_step_stats());
  return status;
}

StepContext LocalSession::NewStep() {
  StepContext step;
  step.step_id = next_step_.fetch_add(1, std::memory_order_relaxed);
  step.resources = &resources_;
  step.functions = functions_.get();
  step.pool = inter_pool_ != nullptr ? inter_pool_.get() : intra_pool_.get();
  return step;
}

StatusOr<Session::CallableHandle> LocalSession::MakeCallable(const std::vector<std::string>& feeds,
                                                             const std::vector<std::string>& fetches,
                                                             const std::vector<std::string>& targets) {
  ASSIGN_OR_RETURN(PlanPtr plan, MakePlan(feeds, fetches, targets));
  return plans_.AddCallable(std::move(plan));
}

Status LocalSession::RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                                 const RunOptions& options, proto::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(PlanPtr plan, plans_.FindCallable(handle));
  return RunPlanStep(plan, options, feeds, outputs, metadata);
}

Status LocalSession::ReleaseCallable(CallableHandle handle) { return plans_.ReleaseCallable(handle); }

StatusOr<std::string> LocalSession::PartialRunSetup(const std::vector<std::string>& feeds,
                                                    const std::vector<std::string>& fetches,
                                                    const std::vector<std::string>& targets) {
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_->PruneFor(feeds, fetches, targets));
  auto step = std::make_shared<PartialStep>(feeds, fetches, FeedsOfFetches(pruned));
  RETURN_IF_ERROR(SplitIntoParts(&pruned));
  RETURN_IF_ERROR(Prepare(&pruned));
  ASSIGN_OR_RETURN(PlanPtr plan, Compile(std::move(pruned), MakeCompileOptions()));
  {
    MutexLock lock(steps_mu_);
    if (closed_) return errors::Cancelled("Session has been closed.");
  }
  step->Start(std::move(plan), NewStep());
  return partial_.Add(std::move(step));
}

Status LocalSession::PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                                std::vector<Tensor>* outputs) {
  return partial_.Run(handle, feeds, fetches, outputs);
}

std::vector<DeviceAttributes> LocalSession::ListDevices() {
  std::vector<DeviceAttributes> list;
  for (const auto& device : devices_) list.push_back(device->attributes());
  return list;
}

Status LocalSession::Close() {
  partial_.GiveUp();
  std::vector<Cancellation*> running;
  MutexLock lock(steps_mu_);
  closed_ = true;
  running = steps_;
  for (Cancellation* step : running)
    step->StartCancel(errors::Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  while (!steps_.empty()) steps_ended_.Wait(steps_mu_);
  return OkStatus();
}

}  // namespace millstream
