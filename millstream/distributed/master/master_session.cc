// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/master_session.h"

#include <algorithm>
#include <mutex>

#include "millstream/base/logging.h"
#include "millstream/distributed/master/master_step.h"
#include "millstream/distributed/master/named_tasks.h"
#include "millstream/distributed/wire/long_call.h"
#include "millstream/framework/op_traits.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/placement/merge_rows.h"
#include "millstream/runtime/executor.h"

namespace millstream {
namespace {

// Where a caller waits for the end of its step. The step keeps it alive, so that it is told without a lock that the
// caller, once awake, would have to wait for; callers keep theirs for their next step.
class StepEnd {
 public:
  void Begin(std::vector<Tensor>* outputs) {
    outputs_ = outputs;
    state_.store(State::kRunning, std::memory_order_relaxed);
  }
  void Tell(Status status, std::vector<Tensor> values) {
    status_ = std::move(status);
    if (outputs_ != nullptr) *outputs_ = std::move(values);
    if (state_.exchange(State::kEnded, std::memory_order_acq_rel) != State::kBlocked) return;
    { MutexLock lock(mu_); }  // the caller has seen the end or waits by now
    changed_.NotifyOne();
  }
  bool ended() const { return state_.load(std::memory_order_acquire) == State::kEnded; }
  void Wait() {
    State running = State::kRunning;
    if (!state_.compare_exchange_strong(running, State::kBlocked, std::memory_order_acq_rel)) return;
    MutexLock lock(mu_);
    while (!ended()) changed_.Wait(mu_);
  }
  Status TakeStatus() { return std::move(status_); }

 private:
  enum class State { kRunning, kBlocked, kEnded };
  std::atomic<State> state_{State::kRunning};
  std::vector<Tensor>* outputs_ = nullptr;
  Status status_;
  Mutex mu_;
  CondVar changed_;
};

std::vector<DeviceAttributes> DevicesOf(const std::vector<std::shared_ptr<ClusterTask>>& tasks) {
  std::vector<DeviceAttributes> devices;
  for (const auto& task : tasks) devices.insert(devices.end(), task->devices().begin(), task->devices().end());
  return devices;
}

constexpr auto kLookPatience = std::chrono::seconds(2);

TimerQueue::Clock::time_point DeadlineOf(const SessionOptions& options) {
  return options.operation_timeout_ms > 0
             ? TimerQueue::Clock::now() + std::chrono::milliseconds(options.operation_timeout_ms)
             : TimerQueue::Clock::time_point::max();
}

std::unordered_map<std::string, std::shared_ptr<ClusterTask>> ByName(
    const std::vector<std::shared_ptr<ClusterTask>>& tasks) {
  std::unordered_map<std::string, std::shared_ptr<ClusterTask>> by_name;
  for (const auto& task : tasks) by_name.emplace(task->name(), task);
  return by_name;
}

// Steps that train do; those that evaluate, or only look, do not.
bool WritesVariables(const Graph& graph) {
  const auto writes = [](const std::unique_ptr<Node>& node) {
    return node != nullptr && node->op().Has(OpTrait::kUpdates);
  };
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), writes);
}

}  // namespace

MasterSession::MasterSession(MasterSessionOptions options)
    : PlannedSession(options.session, DevicesOf(options.tasks), options.tasks.front()->devices().front().name),
      options_(std::move(options)),
      tasks_(ByName(options_.tasks)),
      absent_(options_.absent) {}

MasterSession::~MasterSession() { Close().IgnoreError(); }

// Tasks.

std::vector<std::string> MasterSession::Absent() const {
  MutexLock lock(tasks_mu_);
  return absent_;
}

std::shared_ptr<ClusterTask> MasterSession::TaskNamed(const std::string& name) const {
  MutexLock lock(tasks_mu_);
  const auto found = tasks_.find(name);
  return found == tasks_.end() ? nullptr : found->second;
}

Status MasterSession::AwaitTasks(const std::vector<std::string>& names, Cancellation* cancellation,
                                 TimerQueue::Clock::time_point deadline) {
  if (names.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const auto found, options_.find_tasks(names, cancellation, deadline));
  for (const std::shared_ptr<ClusterTask>& task : found) {
    MutexLock lock(tasks_mu_);
    if (!tasks_.emplace(task->name(), task).second) continue;  // another thread has found it, too
    graph_.AddDevices(task->devices());
    std::erase(absent_, task->name());
  }
  return OkStatus();
}

Status MasterSession::AwaitTasksOf(const proto::GraphDef& graph, Cancellation* cancellation) {
  const std::vector<std::string> absent = Absent();
  if (absent.empty()) return OkStatus();
  return AwaitTasks(TasksNamedBy(RequestedDevices(graph), absent), cancellation, DeadlineOf(options_.session));
}

Status MasterSession::AwaitTasksOf(const Graph& graph, Cancellation* cancellation) {
  const std::vector<std::string> absent = Absent();
  if (absent.empty()) return OkStatus();
  return AwaitTasks(TasksNamedBy(RequestedDevices(graph), absent), cancellation, DeadlineOf(options_.session));
}

void MasterSession::LookForAbsentTasks(Cancellation* cancellation) {
  for (const std::string& name : Absent()) {
    const Status found = AwaitTasks({name}, cancellation, TimerQueue::Clock::now() + kLookPatience);
    if (!found.ok()) LogWarning(absl::StrCat("devices are listed without those of ", name, ": ", found.message()));
  }
}

// Plans.

Status MasterSession::OpenAt(ClusterTask& task) {
  MutexLock lock(open_mu_);
  if (open_at_.contains(task.name())) return OkStatus();
  TaskSessionSpec spec;
  spec.name = options_.handle;
  spec.config = options_.config;
  spec.options = options_.session;
  spec.master = local_task();
  spec.isolate_state = IsolatesState(options_.config);
  spec.library = graph_.library();
  RETURN_IF_ERROR(task.CreateSession(spec));
  open_at_.insert(task.name());
  return OkStatus();
}

Status MasterSession::OpenAtAll() {
  for (const std::shared_ptr<ClusterTask>& task : options_.tasks) RETURN_IF_ERROR(OpenAt(*task));
  return OkStatus();
}

StatusOr<MasterSession::PlanPtr> MasterSession::MakePlan(PrunedGraph pruned) {
  RETURN_IF_ERROR(steps_.closed());
  {
    MutexLock lock(made_mu_);
    std::erase_if(made_, [](const std::weak_ptr<const MasterPlan>& made) { return made.expired(); });
    if (made_.size() >= options_.max_signatures) {
      return errors::ResourceExhausted("The session has run ", made_.size(),
                                       " combinations of feeds and fetches; a new session takes new ones");
    }
  }
  auto plan = std::make_shared<MasterPlan>();
  plan->access = access_;
  plan->session = options_.handle;
  plan->num_fetches = pruned.rets.size();
  plan->num_nodes = pruned.graph->num_nodes();
  const bool trains = WritesVariables(*pruned.graph);
  for (size_t i = 0; options_.observer != nullptr && i < pruned.rets.size(); ++i) {
    auto observer = options_.observer->ObserveFetch(pruned.rets[i].name(), pruned.rets[i].dtype(), trains);
    if (observer != nullptr) plan->observed.emplace_back(i, std::move(observer));
  }
  for (const Node* arg : pruned.args) plan->arg_types.push_back(arg->output_type(0));
  RETURN_IF_ERROR(MergeRowsBetweenTasks(&pruned));
  ASSIGN_OR_RETURN(PartitionedGraph cut, PartitionByTask(std::move(pruned)));
  std::vector<std::shared_ptr<ClusterTask>> tasks;  // by part
  for (const GraphPart& part : cut.parts) {
    tasks.push_back(TaskNamed(part.task));
    if (tasks.back() == nullptr) return errors::Internal("No task ", part.task, " in this session");
  }
  for (size_t i = 0; i < cut.parts.size(); ++i) {
    const std::shared_ptr<ClusterTask>& task = tasks[i];
    RETURN_IF_ERROR(task->CheckAlive());
    RETURN_IF_ERROR(OpenAt(*task));
    std::vector<EdgeTarget> sends;
    std::vector<FromTask> from;
    for (const CutEdge& edge : cut.edges) {
      if (edge.from == static_cast<int>(i)) {
        sends.push_back({edge.id, tasks[edge.to]->name(), tasks[edge.to]->incarnation()});
      }
      if (edge.to != static_cast<int>(i)) continue;
      const ClusterTask& sender = *tasks[edge.from];
      auto known = std::find_if(from.begin(), from.end(),
                                [&](const FromTask& task) { return task.incarnation == sender.incarnation(); });
      if (known == from.end()) known = from.insert(from.end(), {sender.name(), sender.incarnation(), {}});
      known->edges.push_back(edge.id);
    }
    MasterPlan::Part part;
    part.task = task;
    part.args = cut.parts[i].arg_numbers;
    part.rets = cut.parts[i].ret_numbers;
    ASSIGN_OR_RETURN(part.id, task->Register(options_.handle, std::move(cut.parts[i]), sends, from));
    plan->parts.push_back(std::move(part));
  }
  std::stable_sort(plan->parts.begin(), plan->parts.end(), [](const MasterPlan::Part& a, const MasterPlan::Part& b) {
    return a.task->is_local() < b.task->is_local();
  });
  MutexLock lock(made_mu_);
  made_.push_back(plan);
  return PlanPtr(std::move(plan));
}

int64_t MasterSession::MostWork() {
  int64_t most = 0;
  std::vector<PlanPtr> plans;  // may be the last to hold one: dropped outside the lock
  MutexLock lock(made_mu_);
  for (const auto& made : made_) {
    if (PlanPtr plan = made.lock()) {
      most = std::max(most, SignatureWork{plan->num_nodes, plan->runs.load(std::memory_order_relaxed)}.total());
      plans.push_back(std::move(plan));
    }
  }
  return most;
}

void MasterSession::OnNewSignature() { ExpectLongCall(); }

Status MasterSession::FillPartitionGraphs(const Feeds& feeds, const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets, proto::RunMetadata* metadata) {
  if (metadata == nullptr) return OkStatus();
  std::vector<std::string> feed_names;
  for (const auto& feed : feeds) feed_names.push_back(feed.first);
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feed_names, fetches, targets));
  RETURN_IF_ERROR(MergeRowsBetweenTasks(&pruned));
  ASSIGN_OR_RETURN(PartitionedGraph cut, PartitionByTask(std::move(pruned)));
  ExportOptions options;
  options.assigned_devices = true;
  for (const GraphPart& part : cut.parts)
    RETURN_IF_ERROR(ExportGraph(*part.graph.graph, metadata->add_partition_graphs(), options));
  return OkStatus();
}

// Steps.

void MasterSession::Start(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args,
                          proto::RunMetadata* metadata, bool may_block, Ref<PartialExchange> partial, StepDone done) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].dtype() != plan->arg_types[i]) {
      return done(errors::InvalidArgument("Feed ", i, " has type ", DTypeName(args[i].dtype()), ", expected ",
                                          DTypeName(plan->arg_types[i])),
                  {});
    }
  }
  for (const MasterPlan::Part& part : plan->parts) {
    if (Status alive = part.task->CheckAlive(); !alive.ok()) return done(std::move(alive), {});
  }
  const uint64_t id = options_.next_step->fetch_add(1, std::memory_order_relaxed);
  auto step = std::make_shared<Step>(this, std::move(plan), id, metadata, std::move(done));
  step->Run(options, std::move(args), may_block, std::move(partial));
}

Status MasterSession::RunAndWait(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args,
                                 std::vector<Tensor>* outputs, proto::RunMetadata* metadata) {
  thread_local std::shared_ptr<StepEnd> kept;
  const std::shared_ptr<StepEnd> end = kept != nullptr ? std::move(kept) : std::make_shared<StepEnd>();
  end->Begin(outputs);
  Start(plan, options, std::move(args), metadata, /*may_block=*/true, nullptr,
        [end](Status status, std::vector<Tensor> values) { end->Tell(std::move(status), std::move(values)); });
  if (!end->ended()) {
    const int64_t begin = NowNanos();
    if (plan->waits.ShouldLook()) {  // giving way to whoever works on the step
      LookFor(LookWindow(WaitPolicy::kLookNanos, nullptr), 1, [&] { return end->ended(); });
    }
    end->Wait();
    plan->waits.Waited(NowNanos() - begin);
  }
  Status status = end->TakeStatus();
  kept = end;
  return status;
}

namespace {

std::vector<Tensor> ValuesOf(const Session::Feeds& feeds) {
  std::vector<Tensor> values;
  values.reserve(feeds.size());
  for (const auto& feed : feeds) values.push_back(feed.second);
  return values;
}

}  // namespace

Status MasterSession::Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                          const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
                          proto::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(PlanPtr plan, FindPlan(feeds, fetches, targets));
  if (options.partition_graphs) RETURN_IF_ERROR(FillPartitionGraphs(feeds, fetches, targets, metadata));
  return RunAndWait(std::move(plan), options, ValuesOf(feeds), outputs, metadata);
}

void MasterSession::RunAsync(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets, proto::RunMetadata* metadata, StepDone done) {
  StatusOr<PlanPtr> plan = FindPlan(feeds, fetches, targets);
  if (!plan.ok()) return done(plan.status(), {});
  if (options.partition_graphs) {
    if (Status status = FillPartitionGraphs(feeds, fetches, targets, metadata); !status.ok())
      return done(std::move(status), {});
  }
  Start(*std::move(plan), options, ValuesOf(feeds), metadata, /*may_block=*/false, nullptr, std::move(done));
}

StatusOr<MasterSession::PlanPtr> MasterSession::FindCallable(CallableHandle handle, size_t num_feeds) const {
  ASSIGN_OR_RETURN(PlanPtr plan, plans_.FindCallable(handle));
  const size_t expected = plan->arg_types.size();
  if (num_feeds != expected)
    return errors::InvalidArgument("Expected ", expected, " feed tensors, but got ", num_feeds);
  return plan;
}

void MasterSession::RunCallableAsync(CallableHandle handle, std::vector<Tensor> feeds, const RunOptions& options,
                                     proto::RunMetadata* metadata, StepDone done) {
  StatusOr<PlanPtr> plan = FindCallable(handle, feeds.size());
  if (!plan.ok()) return done(plan.status(), {});
  Start(*std::move(plan), options, std::move(feeds), metadata, /*may_block=*/false, nullptr, std::move(done));
}

Status MasterSession::RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                                  const RunOptions& options, proto::RunMetadata* metadata) {
  ASSIGN_OR_RETURN(PlanPtr plan, FindCallable(handle, feeds.size()));
  return RunAndWait(std::move(plan), options, feeds, outputs, metadata);
}

Status MasterSession::StartPartial(PlanPtr plan, PartialStep* step) {
  RunOptions options;
  options.cancellation = step->cancellation();
  step->Start([&](Ref<PartialExchange> exchange) {
    Start(plan, options, {}, nullptr, /*may_block=*/false, exchange,
          [exchange](Status status, std::vector<Tensor>) { exchange->End(std::move(status)); });
  });
  return OkStatus();
}

// The end.

void MasterSession::Abandon(const Status& why) {
  steps_.Close(why);
  std::vector<std::shared_ptr<Step>> running;
  steps_.ForEach([&](Step& step) { running.push_back(step.shared_from_this()); });
  for (const auto& step : running) step->Cancel(why);
}

std::vector<uint64_t> MasterSession::RunningSteps() {
  std::vector<uint64_t> running;
  steps_.ForEach([&](const Step& step) { running.push_back(step.id()); });
  return running;
}

void MasterSession::CancelSteps(const std::set<uint64_t>& steps, const Status& why) {
  std::vector<std::shared_ptr<Step>> running;
  steps_.ForEach([&](Step& step) {
    if (steps.contains(step.id())) running.push_back(step.shared_from_this());
  });
  for (const auto& step : running) step->Cancel(why);
}

Status MasterSession::Close() {
  partial_.Close(errors::Cancelled("Session has been closed."));
  Abandon(errors::Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  steps_.AwaitNone();
  {
    MutexLock lock(access_->mu);
    access_->open = false;
    while (access_->cancelling > 0) access_->none_cancelling.Wait(access_->mu);
  }
  plans_.Clear();
  MutexLock lock(open_mu_);
  for (const std::string& task : open_at_) TaskNamed(task)->DeleteSession(options_.handle);
  open_at_.clear();
  return OkStatus();
}

}  // namespace millstream
