// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master_session.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/long_call.h"
#include "millstream/distributed/master_step.h"
#include "millstream/graph/export.h"

namespace millstream {
namespace {

constexpr auto kLookForEnd = std::chrono::microseconds(60);

std::vector<DeviceAttributes> DevicesOf(const std::vector<std::shared_ptr<ClusterTask>>& tasks) {
  std::vector<DeviceAttributes> devices;
  for (const auto& task : tasks) devices.insert(devices.end(), task->devices().begin(), task->devices().end());
  return devices;
}

std::unordered_map<std::string, std::shared_ptr<ClusterTask>> ByName(
    const std::vector<std::shared_ptr<ClusterTask>>& tasks) {
  std::unordered_map<std::string, std::shared_ptr<ClusterTask>> by_name;
  for (const auto& task : tasks) by_name.emplace(task->name(), task);
  return by_name;
}

}  // namespace

MasterSession::MasterSession(MasterSessionOptions options)
    : options_(std::move(options)),
      tasks_(ByName(options_.tasks)),
      graph_(options_.session, DevicesOf(options_.tasks), options_.tasks.front()->devices().front().name) {}

MasterSession::~MasterSession() { Close().IgnoreError(); }

// Plans.

Status MasterSession::OpenAt(ClusterTask& task) {
  MutexLock lock(open_mu_);
  if (open_at_.contains(task.name())) return OkStatus();
  TaskSessionSpec spec;
  spec.name = options_.handle;
  spec.config = options_.config;
  spec.options = options_.session;
  spec.isolate_state = IsolatesState(options_.config);
  spec.library = graph_.library();
  RETURN_IF_ERROR(task.CreateSession(spec));
  open_at_.insert(task.name());
  return OkStatus();
}

StatusOr<MasterSession::PlanPtr> MasterSession::MakePlan(PrunedGraph pruned) {
  {
    MutexLock lock(steps_mu_);
    RETURN_IF_ERROR(closed_);
  }
  auto plan = std::make_shared<Plan>();
  plan->life = life_;
  plan->session = options_.handle;
  plan->num_fetches = pruned.rets.size();
  for (size_t i = 0; options_.reports != nullptr && i < pruned.rets.size(); ++i) {
    auto scalar = options_.reports->scalars.Find(pruned.rets[i].name(), pruned.rets[i].dtype());
    if (scalar != nullptr) plan->scalars.emplace_back(i, std::move(scalar));
  }
  for (const Node* arg : pruned.args) plan->arg_types.push_back(arg->output_type(0));
  ASSIGN_OR_RETURN(PartitionedGraph cut, PartitionByTask(std::move(pruned)));
  std::vector<ClusterTask*> tasks;  // by part
  for (const GraphPart& part : cut.parts) {
    auto found = tasks_.find(part.task);
    if (found == tasks_.end()) return errors::Internal("No task ", part.task, " in this session");
    tasks.push_back(found->second.get());
  }
  for (size_t i = 0; i < cut.parts.size(); ++i) {
    const std::shared_ptr<ClusterTask>& task = tasks_.at(tasks[i]->name());
    RETURN_IF_ERROR(task->CheckAlive());
    RETURN_IF_ERROR(OpenAt(*task));
    std::vector<EdgeTarget> sends;
    std::vector<FromTask> from;
    for (const CutEdge& edge : cut.edges) {
      if (edge.from == static_cast<int>(i)) {
        sends.push_back({edge.id, tasks[edge.to]->name(), tasks[edge.to]->incarnation()});
      }
      const ClusterTask& sender = *tasks[edge.from];
      const auto known = [&](const FromTask& task) { return task.incarnation == sender.incarnation(); };
      if (edge.to == static_cast<int>(i) && std::none_of(from.begin(), from.end(), known))
        from.push_back({sender.name(), sender.incarnation()});
    }
    Plan::Part part;
    part.task = task;
    part.args = cut.parts[i].arg_numbers;
    part.rets = cut.parts[i].ret_numbers;
    ASSIGN_OR_RETURN(part.id, task->Register(options_.handle, std::move(cut.parts[i]), sends, from));
    plan->parts.push_back(std::move(part));
  }
  std::stable_sort(plan->parts.begin(), plan->parts.end(),
                   [](const Plan::Part& a, const Plan::Part& b) { return a.task->is_local() < b.task->is_local(); });
  return PlanPtr(std::move(plan));
}

StatusOr<MasterSession::PlanPtr> MasterSession::FindPlan(const Feeds& feeds, const std::vector<std::string>& fetches,
                                                         const std::vector<std::string>& targets) {
  thread_local std::string key;
  key.clear();
  AppendSignatureKey(feeds, fetches, targets, &key);
  {
    std::shared_lock lock(plans_mu_);
    auto it = plans_.find(key);
    if (it != plans_.end()) return it->second;
  }
  ExpectLongCall();
  const std::string kept = key;  // making a plan may use this thread for other sessions
  std::vector<std::string> feed_names;
  for (const auto& feed : feeds) feed_names.push_back(feed.first);
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feed_names, fetches, targets));
  ASSIGN_OR_RETURN(PlanPtr plan, MakePlan(std::move(pruned)));
  std::unique_lock lock(plans_mu_);
  return plans_.emplace(kept, std::move(plan)).first->second;
}

Status MasterSession::FillPartitionGraphs(const Feeds& feeds, const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets, proto::RunMetadata* metadata) {
  if (metadata == nullptr) return OkStatus();
  std::vector<std::string> feed_names;
  for (const auto& feed : feeds) feed_names.push_back(feed.first);
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feed_names, fetches, targets));
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
  for (const Plan::Part& part : plan->parts) {
    if (Status alive = part.task->CheckAlive(); !alive.ok()) return done(std::move(alive), {});
  }
  const uint64_t id = options_.next_step->fetch_add(1, std::memory_order_relaxed);
  auto step = std::make_shared<Step>(this, std::move(plan), id, metadata, std::move(done));
  step->Run(options, std::move(args), may_block, std::move(partial));
}

Status MasterSession::RunAndWait(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args,
                                 std::vector<Tensor>* outputs, proto::RunMetadata* metadata) {
  struct {
    std::atomic<bool> seen{false};
    Notification event;
    Status status;
  } finished;
  Start(std::move(plan), options, std::move(args), metadata, /*may_block=*/true, nullptr,
        [&finished, outputs](Status status, std::vector<Tensor> values) {
          finished.status = std::move(status);
          if (outputs != nullptr) *outputs = std::move(values);
          finished.seen.store(true, std::memory_order_release);
          finished.event.Notify();
        });
  // Being woken costs as much as a short step: look for its end for a while first, giving way to whoever works on it.
  const auto patience = std::chrono::steady_clock::now() + kLookForEnd;
  while (!finished.seen.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < patience)
    std::this_thread::yield();
  finished.event.Wait();
  return finished.status;
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

StatusOr<Session::CallableHandle> MasterSession::MakeCallable(const std::vector<std::string>& feeds,
                                                              const std::vector<std::string>& fetches,
                                                              const std::vector<std::string>& targets) {
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feeds, fetches, targets));
  ASSIGN_OR_RETURN(PlanPtr plan, MakePlan(std::move(pruned)));
  std::unique_lock lock(plans_mu_);
  callables_.emplace(next_callable_, std::move(plan));
  return next_callable_++;
}

StatusOr<MasterSession::PlanPtr> MasterSession::FindCallable(CallableHandle handle, size_t num_feeds) const {
  std::shared_lock lock(plans_mu_);
  auto it = callables_.find(handle);
  if (it == callables_.end()) return errors::InvalidArgument("No such callable handle: ", handle);
  const size_t expected = it->second->arg_types.size();
  if (num_feeds != expected)
    return errors::InvalidArgument("Expected ", expected, " feed tensors, but got ", num_feeds);
  return it->second;
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

Status MasterSession::ReleaseCallable(CallableHandle handle) {
  PlanPtr dropped;  // deregistered outside the lock
  std::unique_lock lock(plans_mu_);
  auto it = callables_.find(handle);
  if (it == callables_.end()) return errors::InvalidArgument("No such callable handle: ", handle);
  dropped = std::move(it->second);
  callables_.erase(it);
  return OkStatus();
}

// Partial runs: what is fed and fetched in parts meets the caller in this process, whatever task the rest runs on.

StatusOr<std::string> MasterSession::PartialRunSetup(const std::vector<std::string>& feeds,
                                                     const std::vector<std::string>& fetches,
                                                     const std::vector<std::string>& targets) {
  ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feeds, fetches, targets));
  auto step = std::make_shared<PartialStep>(feeds, fetches, FeedsOfFetches(pruned));
  RETURN_IF_ERROR(SplitIntoParts(&pruned, options_.tasks.front()->devices().front().name));
  ASSIGN_OR_RETURN(PlanPtr plan, MakePlan(std::move(pruned)));
  RunOptions options;
  options.cancellation = step->cancellation();
  step->Start([&](Ref<PartialExchange> exchange) {
    Start(plan, options, {}, nullptr, /*may_block=*/false, exchange,
          [exchange](Status status, std::vector<Tensor>) { exchange->End(std::move(status)); });
  });
  return partial_.Add(std::move(step));
}

Status MasterSession::PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                                 std::vector<Tensor>* outputs) {
  return partial_.Run(handle, feeds, fetches, outputs);
}

// The end.

void MasterSession::Abandon(const Status& why) {
  std::vector<std::shared_ptr<Step>> running;
  {
    MutexLock lock(steps_mu_);
    if (closed_.ok()) closed_ = why;
    for (Step* step : steps_) running.push_back(step->shared_from_this());
  }
  for (const auto& step : running) step->Cancel(why);
}

Status MasterSession::Close() {
  partial_.GiveUp();
  Abandon(errors::Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  {
    MutexLock lock(steps_mu_);
    while (!steps_.empty()) steps_ended_.Wait(steps_mu_);
  }
  {
    MutexLock lock(life_->mu);
    life_->open = false;
    while (life_->cancelling > 0) life_->calm.Wait(life_->mu);
  }
  {
    std::unordered_map<std::string, PlanPtr> plans;
    std::unordered_map<CallableHandle, PlanPtr> callables;
    std::unique_lock lock(plans_mu_);
    plans.swap(plans_);
    callables.swap(callables_);
  }
  MutexLock lock(open_mu_);
  for (const std::string& task : open_at_) tasks_.at(task)->DeleteSession(options_.handle);
  open_at_.clear();
  return OkStatus();
}

}  // namespace millstream
