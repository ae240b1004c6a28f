// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/task_session.h"

#include <algorithm>

#include "millstream/collective/op_hub.h"
#include "millstream/framework/graph_files.h"

namespace millstream {
namespace {

std::optional<DeviceSet> RenamedDevices(const SessionCluster& cluster, const DeviceSet& devices) {
  if (!cluster.renames()) return std::nullopt;
  return std::optional<DeviceSet>(std::in_place, cluster.task, devices);
}

// The state of an isolated session is its own, but its collective ops meet those of other tasks.
void ShareCollectives(const ResourceManager& task, ResourceManager& isolated) {
  using collective::OpHub;
  StatusOr<Ref<OpHub>> hub = task.Lookup<OpHub>(OpHub::kContainer, OpHub::kName);
  if (hub.ok()) isolated.Create<OpHub>(OpHub::kContainer, OpHub::kName, *std::move(hub)).IgnoreError();
}

}  // namespace

bool TaskPart::Exchanges(const PeerLink& link) const {
  const auto receives = [&](const FromTask& task) { return task.incarnation == link.peer_incarnation(); };
  const auto sends = [&](const std::shared_ptr<PeerLink>& used) { return used.get() == &link; };
  return std::any_of(from.begin(), from.end(), receives) || std::any_of(links.begin(), links.end(), sends);
}

void TaskPart::Cut(const Status& why) {
  MutexLock lock(cut_mu_);
  if (is_cut_.load(std::memory_order_relaxed)) return;
  cut_ = why;
  is_cut_.store(true, std::memory_order_release);
}

Status TaskPart::CheckWhole() const {
  if (!is_cut_.load(std::memory_order_acquire)) [[likely]]
    return OkStatus();
  MutexLock lock(cut_mu_);
  return cut_;
}

StatusOr<std::shared_ptr<StepUpdates>> TaskPart::BeginUpdates(AppliedUpdates& applied, StepIdentity identity,
                                                              ClientSteps::Clock::time_point now) {
  if (updates == nullptr) return nullptr;
  ClientSteps* steps = steps_of_client_.load(std::memory_order_acquire);
  if (steps != nullptr && steps->client() == identity.client) [[likely]] {
    steps->last_used.store(now, std::memory_order_relaxed);
    return steps->Begin(updates, identity);
  }
  const std::shared_ptr<ClientSteps> found = applied.OfClient(identity.client, now);
  if (steps == nullptr) {
    MutexLock lock(cut_mu_);
    if (steps_owner_ == nullptr) steps_owner_ = found;
    steps_of_client_.store(steps_owner_.get(), std::memory_order_release);
  }
  return found->Begin(updates, identity);
}

TaskSession::TaskSession(std::string name, const TaskState& task, const SessionOptions& options, SessionCluster cluster,
                         bool isolate_state, std::shared_ptr<FunctionLibrary> library)
    : name_(std::move(name)),
      cluster_(std::move(cluster)),
      renamed_(RenamedDevices(cluster_, *task.devices)),
      isolated_(isolate_state ? std::make_unique<ResourceManager>() : nullptr),
      runtime_(options, {.devices = renamed_ ? &*renamed_ : task.devices,
                         .pool = task.pool,
                         .resources = isolated_ != nullptr ? isolated_.get() : task.resources,
                         .library = std::move(library),
                         .function_placement = SessionRuntime::FunctionPlacement::kWithCaller,
                         .inter_op_threads = task.pool->parallelism()}) {
  if (isolated_ == nullptr) return;
  if (task.census != nullptr) task.census->AttachTo(isolated_.get());
  if (task.resources == nullptr) return;
  ShareFileRoots(*task.resources, isolated_.get());
  ShareCollectives(*task.resources, *isolated_);
}

// Iterators have threads that call functions: they end while everything is still there.
TaskSession::~TaskSession() {
  if (isolated_ != nullptr) isolated_->ClearAll();
}

}  // namespace millstream
