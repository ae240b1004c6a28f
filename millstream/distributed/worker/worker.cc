// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/worker.h"

#include <algorithm>
#include <set>

#include "millstream/distributed/worker/once_kernel.h"
#include "millstream/distributed/worker/register_part.h"
#include "millstream/distributed/worker/step_watch.h"
#include "millstream/distributed/worker/worker_step.h"
#include "millstream/framework/variable.h"
#include "millstream/proto/step_stats.pb.h"
#include "millstream/proto/task.pb.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/step_stats.h"

namespace millstream {
namespace {

constexpr size_t kRememberedSteps = 4096;

// The threads of links and of the master's clients do not compute: all threads are workers here.
std::unique_ptr<ThreadPool> MakePool(const WorkerOptions& options) {
  const int asked = options.session.intra_op_threads;
  const int threads = asked > 0 ? asked : std::max(1, NumCores() / std::max(1, options.tasks_on_host));
  return std::make_unique<ThreadPool>(threads == 1 ? 1 : threads + 1);
}

}  // namespace

Worker::Worker(const WorkerOptions& options, Connect connect)
    : options_(options),
      connect_(std::move(connect)),
      pool_(MakePool(options)),
      devices_(options.task, options.session, options.incarnation, pool_.get()) {
  census_->AttachTo(&resources_);
  WatchSteps();
}

Worker::~Worker() {
  watch_.reset();
  const Status why = errors::Unavailable(options_.task, " is shutting down");
  running_.Close(why);
  CancelAll(why);
  running_.AwaitNone();
  {
    MutexLock lock(steps_mu_);
    steps_.clear();
  }
  // Iterators have threads that call functions of sessions.
  resources_.ClearAll();
}

// Sessions and parts.

Status Worker::CreateSession(const std::string& name, const SessionOptions& options, SessionCluster cluster,
                             bool isolate_state, std::shared_ptr<FunctionLibrary> library,
                             const std::string& master_task, uint64_t master_incarnation) {
  if (library == nullptr) library = std::make_shared<FunctionLibrary>();
  const TaskState task{&devices_, pool_.get(), &resources_, census_.get()};
  if (!cluster.master.empty()) EndSessionsOfOthers(cluster.master, master_incarnation);
  auto session =
      std::make_shared<TaskSession>(name, task, options, std::move(cluster), isolate_state, std::move(library));
  MutexLock lock(sessions_mu_);
  if (!sessions_.try_emplace(name, SessionEntry{std::move(session), master_task, master_incarnation}).second) {
    return errors::AlreadyExists("Session ", name, " exists already at ", options_.task);
  }
  return OkStatus();
}

void Worker::EndSessionsOfOthers(const std::string& master, uint64_t incarnation) {
  std::vector<std::string> others;
  {
    MutexLock lock(sessions_mu_);
    for (const auto& [name, entry] : sessions_) {
      if (entry.session->cluster().master == master && entry.master_incarnation != incarnation) others.push_back(name);
    }
  }
  for (const std::string& name : others) DeleteSession(name).IgnoreError();
}

Status Worker::DeleteSession(const std::string& name) {
  std::vector<std::shared_ptr<TaskPart>> parts;  // dropped outside the lock
  std::shared_ptr<TaskSession> session;
  std::vector<std::shared_ptr<TaskSession>> unneeded;
  MutexLock lock(sessions_mu_);
  auto it = sessions_.find(name);
  if (it == sessions_.end()) return errors::Aborted("Session ", name, " is not known at ", options_.task);
  session = std::move(it->second.session);
  sessions_.erase(it);
  unneeded = TakeUnneeded();
  if (session->MayBeHeld()) retired_.push_back(session);
  for (auto part = parts_.begin(); part != parts_.end();) {
    auto next = std::next(part);
    if (part->second->session == session) {
      parts.push_back(std::move(part->second));
      parts_.erase(part);
    }
    part = next;
  }
  return OkStatus();
}

std::vector<std::shared_ptr<TaskSession>> Worker::TakeUnneeded() {
  // A running step has its session, so one that only this list has gets no holder any more.
  const auto is_needed = [](const std::shared_ptr<TaskSession>& session) {
    if (session.use_count() > 1) return true;
    std::atomic_thread_fence(std::memory_order_acquire);
    return session->is_held();
  };
  const auto first = std::partition(retired_.begin(), retired_.end(), is_needed);
  std::vector<std::shared_ptr<TaskSession>> unneeded(std::make_move_iterator(first),
                                                     std::make_move_iterator(retired_.end()));
  retired_.erase(first, retired_.end());
  return unneeded;
}

StatusOr<std::shared_ptr<TaskSession>> Worker::FindSession(const std::string& name) {
  MutexLock lock(sessions_mu_);
  auto it = sessions_.find(name);
  if (it == sessions_.end()) {
    return errors::Aborted("Session handle is not found: ", name, " at ", options_.task,
                           ". Probably this task or the master of the session was restarted");
  }
  return it->second.session;
}

uint32_t Worker::AddPart(std::shared_ptr<TaskPart> part) {
  MutexLock lock(sessions_mu_);
  while (parts_.contains(next_part_)) ++next_part_;
  parts_.emplace(next_part_, std::move(part));
  return next_part_++;
}

StatusOr<std::shared_ptr<PeerLink>> Worker::LinkTo(const std::string& session, const std::string& task,
                                                   uint64_t incarnation) {
  ASSIGN_OR_RETURN(const std::shared_ptr<TaskSession> known, FindSession(session));
  ASSIGN_OR_RETURN(const std::string address, known->cluster().AddressOf(task));
  return connect_(task, address, incarnation);
}

StatusOr<uint32_t> Worker::Register(const std::string& session, PrunedGraph graph, EdgeLinks links,
                                    std::vector<FromTask> from) {
  auto part = std::make_shared<TaskPart>();
  ASSIGN_OR_RETURN(part->session, FindSession(session));
  OnceKernels once(&applied_);
  decltype(CompileOptions::wrap) wrap;
  // Variables of an isolated session end with it: no later session repeats its steps.
  if (!part->session->isolates_state())
    wrap = [&](const Node& node, std::shared_ptr<Kernel> kernel) { return once.Wrap(node, std::move(kernel)); };
  ASSIGN_OR_RETURN(part->plan, part->session->runtime().CompilePlaced(std::move(graph), std::move(wrap)));
  part->updates = once.updates();
  part->links = std::move(links);
  part->from = std::move(from);
  return AddPart(std::move(part));
}

StatusOr<uint32_t> Worker::Register(const proto::RegisterPartRequest& request) {
  ASSIGN_OR_RETURN(std::shared_ptr<TaskSession> session, FindSession(request.session()));
  ASSIGN_OR_RETURN(PrunedGraph graph,
                   PartFromProto(request, session->runtime().devices().attributes(), session->runtime().library()));
  EdgeLinks links;
  constexpr uint32_t kMaxEdges = 1 << 22;
  for (const auto& edge : request.send()) {
    if (edge.id() >= kMaxEdges) return errors::InvalidArgument("Edge ", edge.id(), " is out of range");
    if (edge.id() >= links.size()) links.resize(edge.id() + 1);
    ASSIGN_OR_RETURN(links[edge.id()], LinkTo(request.session(), edge.to_task(), edge.to_incarnation()));
  }
  if (request.from_task_size() != request.from_incarnation_size())
    return errors::InvalidArgument("Tasks that a part receives from have a name and an incarnation each");
  std::vector<FromTask> from;
  for (int i = 0; i < request.from_task_size(); ++i)
    from.push_back({request.from_task(i), request.from_incarnation(i), {}});
  for (const auto& edge : request.receive()) {
    if (edge.from() >= from.size())
      return errors::InvalidArgument("Edge ", edge.id(), " names sender ", edge.from(), ", of ", from.size());
    from[edge.from()].edges.push_back(edge.id());
  }
  return Register(request.session(), std::move(graph), std::move(links), std::move(from));
}

Status Worker::Deregister(const std::string& session, uint32_t part) {
  std::shared_ptr<TaskPart> dropped;
  MutexLock lock(sessions_mu_);
  auto it = parts_.find(part);
  if (it == parts_.end() || it->second->session->name() != session) {
    return errors::Aborted("Part ", part, " is not known at ", options_.task);
  }
  dropped = std::move(it->second);
  parts_.erase(it);
  return OkStatus();
}

StatusOr<std::shared_ptr<TaskPart>> Worker::FindPart(uint32_t part) {
  MutexLock lock(sessions_mu_);
  auto it = parts_.find(part);
  if (it == parts_.end()) {
    return errors::Aborted("Part ", part, " is not known at ", options_.task, ": the task was probably restarted");
  }
  RETURN_IF_ERROR(it->second->CheckWhole());
  return it->second;
}

// Steps.

Worker::StepPtr Worker::FindStep(uint64_t id, bool create) {
  MutexLock lock(steps_mu_);
  auto it = steps_.find(id);
  if (it != steps_.end()) return it->second;
  if (!create || ended_.contains(id)) return nullptr;
  if (steps_.size() >= options_.max_early_steps && steps_.size() >= options_.max_early_steps + running_.size())
    return nullptr;
  return steps_.emplace(id, std::make_shared<Step>(id)).first->second;
}

void Worker::Run(PartRun run, bool may_block) {
  StatusOr<std::shared_ptr<TaskPart>> part = FindPart(run.part);
  if (!part.ok()) return run.done(part.status(), nullptr, nullptr);
  StepPtr step = FindStep(run.step, /*create=*/true);
  if (step == nullptr || step->begun.exchange(true)) {
    return run.done(errors::Internal("Step ", run.step, " was begun twice"), nullptr, nullptr);
  }
  Begin(step, *std::move(part), std::move(run), may_block);
}

void Worker::Begin(const StepPtr& step, std::shared_ptr<TaskPart> part, PartRun run, bool may_block) {
  step->part = std::move(part);
  // From here on LinkLost() sees the step.
  if (Status closed = running_.Enter(step.get()); !closed.ok()) {
    {
      MutexLock lock(steps_mu_);
      steps_.erase(step->id);
    }
    return run.done(std::move(closed), nullptr, nullptr);
  }
  counters_.begun.Add();
  // A link may have been lost since the part was looked up.
  if (Status whole = step->part->CheckWhole(); !whole.ok()) step->cancellation.StartCancel(whole);
  step->run = std::move(run);
  step->exchange.Begin(&step->part->links);
  if (StepIdentity identity = step->run.identity; identity.client != 0) {
    auto updates = step->part->BeginUpdates(applied_, identity, step->first_heard);
    if (updates.ok()) {
      step->updates = *std::move(updates);
      step->exchange.set_updates(step->updates.get());
    } else {
      step->cancellation.StartCancel(updates.status());
    }
  }
  step->context = step->part->session->runtime().NewStep();
  step->context.step_id = static_cast<int64_t>(step->id);
  step->context.step_resources = &step->resources;
  step->context.cancellation = &step->cancellation;
  step->context.exchange = &step->exchange;
  if (step->run.partial) step->resources.Create("", PartialExchange::kName, step->run.partial).IgnoreError();
  if (step->run.traced) {
    step->stats = std::make_unique<StepStatsCollector>();
    step->context.stats = step->stats.get();
  }
  // Whoever waits for another task must hear of an error here, and the other way round.
  Cancellation::Token token;
  Step* raw = step.get();
  const bool registered =
      step->cancellation.Register([raw] { raw->exchange.Fail(raw->cancellation.status()); }, &token);
  if (!registered) step->exchange.Fail(step->cancellation.status());
  if (may_block) return Execute(step);
  const Plan& plan = *step->part->plan;
  // Only the dynamic executor keeps ops that may wait away from this thread.
  const int64_t limit = plan.serial || plan.control_flow ? kWakeUpNanos : ThreadLoan::LimitFor(options_.tasks_on_host);
  if (step->part->usual_time.IsBelow(limit)) {
    const ThreadLoan lent(limit);
    return Execute(step);
  }
  pool_->Schedule(ThreadPool::Task{[](void* object, int64_t worker) {
                                     std::unique_ptr<StepPtr> step(static_cast<StepPtr*>(object));
                                     reinterpret_cast<Worker*>(worker)->Execute(*step);
                                   },
                                   new StepPtr(step), reinterpret_cast<int64_t>(this)});
}

void Worker::Execute(const StepPtr& step) {
  const std::shared_ptr<TaskPart> part = step->part;
  RunWatch watch(part->usual_time);
  RunPlanAsync(part->plan, step->context, step->run.args, &step->rets,
               [this, step](Status status) { End(step, std::move(status)); });
  // Answering is not part of the run: what an answer takes, it takes on any thread.
  watch.Stop(&part->usual_time, step->ended.load(std::memory_order_relaxed));
}

void Worker::End(const StepPtr& step, Status status) {
  const auto now = std::chrono::steady_clock::now();
  step->ended.store(now, std::memory_order_relaxed);
  counters_.ended.Add();
  if (!status.ok()) counters_.failed.Add();
  if (step->origin.load(std::memory_order_relaxed) == nullptr) {
    counters_.own.Add();
    counters_.own_nanos.Add(static_cast<uint64_t>(std::chrono::nanoseconds(now - step->first_heard).count()));
  }
  // Kernels that were cancelled only know that; the step knows why.
  if (absl::IsCancelled(status) && step->cancellation.IsCancelled()) status = step->cancellation.status();
  {
    MutexLock lock(steps_mu_);
    steps_.erase(step->id);
    ended_.emplace(step->id, step->run.part);
    ended_order_.push_back(step->id);
    if (ended_order_.size() > kRememberedSteps) {
      ended_.erase(ended_order_.front());
      ended_order_.pop_front();
    }
  }
  std::unique_ptr<proto::StepStats> stats;
  if (step->stats != nullptr) {
    stats = std::make_unique<proto::StepStats>();
    step->stats->Export(stats.get());
  }
  // Before the answer: the step may be repeated, with other updates, as soon as its client knows how it ended.
  step->exchange.set_updates(nullptr);
  step->updates.reset();
  auto done = std::move(step->run.done);
  done(std::move(status), &step->rets, stats.get());
  running_.Leave(step.get());
}

void Worker::Cancel(uint64_t id, const Status& why) {
  StepPtr step = FindStep(id, /*create=*/false);
  if (step == nullptr) return;
  step->cancellation.StartCancel(why);
  if (step->begun.load()) return;
  // Nobody will begin it.
  MutexLock lock(steps_mu_);
  steps_.erase(id);
}

void Worker::CancelAll(const Status& why) {
  std::vector<StepPtr> steps;
  {
    MutexLock lock(steps_mu_);
    for (const auto& [id, step] : steps_) steps.push_back(step);
  }
  for (const StepPtr& step : steps) Cancel(step->id, why);
}

void Worker::Reset(const std::vector<std::string>& containers) {
  if (containers.empty()) {
    resources_.ClearContainer(resources_.default_container());
  } else {
    for (const std::string& container : containers) resources_.ClearContainer(container);
  }
  applied_.ForgetAll();
  std::vector<std::shared_ptr<TaskSession>> retired;
  MutexLock lock(sessions_mu_);
  if (containers.empty()) retired.swap(retired_);
}

std::vector<std::string> Worker::SessionOwners() const {
  std::set<std::string> owners;
  MutexLock lock(sessions_mu_);
  for (const auto& [name, entry] : sessions_)
    owners.insert(entry.master_task.empty() ? options_.task : entry.master_task);
  return {owners.begin(), owners.end()};
}

size_t Worker::num_sessions() const {
  MutexLock lock(sessions_mu_);
  return sessions_.size();
}

size_t Worker::num_retired_sessions() const {
  MutexLock lock(sessions_mu_);
  return retired_.size();
}

size_t Worker::num_running() const { return running_.size(); }

size_t Worker::num_waiting() const {
  MutexLock lock(steps_mu_);
  return static_cast<size_t>(
      std::count_if(steps_.begin(), steps_.end(), [](const auto& entry) { return !entry.second->begun.load(); }));
}

namespace {

std::optional<int64_t> NumberOf(const Tensor& value) {
  if (!value.IsInitialized() || value.num_elements() != 1) return std::nullopt;
  if (value.dtype() == DType::kInt64) return value.data<int64_t>()[0];
  if (value.dtype() == DType::kInt32) return value.data<int32_t>()[0];
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> Worker::GlobalStep() const {
  const StatusOr<Ref<Variable>> variable = resources_.Lookup<Variable>("", "global_step");
  if (!variable.ok()) return std::nullopt;
  Tensor snapshot;
  {
    // Under its lock, not as a snapshot: the next update would have to copy that.
    MutexLock lock((*variable)->mu());
    if (!devices_.has_accelerators()) return NumberOf((*variable)->tensor());
    snapshot = (*variable)->tensor();
  }
  // Not under the lock: work of the device that is in front of the copy may need it.
  if (!snapshot.IsInitialized()) return std::nullopt;
  const StatusOr<Tensor> on_host = devices_.ToHost(snapshot);
  return on_host.ok() ? NumberOf(*on_host) : std::nullopt;
}

}  // namespace millstream
