// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/task_session.h"

#include "millstream/framework/cpu_device.h"
#include "millstream/graph/placement/placement.h"

namespace millstream {

TaskSession::TaskSession(std::string name, const TaskDevices& devices, const SessionOptions& options,
                         SessionCluster cluster, bool isolate_state, std::shared_ptr<FunctionLibrary> library)
    : name_(std::move(name)),
      cluster_(std::move(cluster)),
      devices_(devices),
      options_(options),
      library_(std::move(library)),
      owned_(isolate_state ? std::make_unique<ResourceManager>() : nullptr),
      resources_(isolate_state ? owned_.get() : devices.resources),
      kernels_(resources_, nullptr) {
  if (cluster_.renames()) {
    renamed_ = MakeCpuDevices(cluster_.task, static_cast<int>(devices.devices.size()),
                              devices.devices.front()->attributes().incarnation, devices.pool);
    devices_.devices.clear();
    for (const auto& device : renamed_) devices_.devices.push_back(device.get());
  }
  functions_ =
      std::make_unique<LocalFunctions>(library_, MakeCompileOptions(), [this](PrunedGraph* p) { return Prepare(p); });
  kernels_.set_functions(functions_.get());
}

// Iterators have threads that call functions: they end while everything is still there.
TaskSession::~TaskSession() {
  if (owned_ != nullptr) owned_->ClearAll();
}

CompileOptions TaskSession::MakeCompileOptions() {
  CompileOptions options;
  options.kernels = &kernels_;
  options.find_device = [this](absl::string_view name) -> Device* {
    for (Device* device : devices_.devices) {
      if (device->name() == name) return device;
    }
    return nullptr;
  };
  options.inter_op_threads = devices_.pool->parallelism();
  return options;
}

std::vector<DeviceAttributes> TaskSession::devices() const {
  std::vector<DeviceAttributes> list;
  for (const Device* device : devices_.devices) list.push_back(device->attributes());
  return list;
}

Status TaskSession::Prepare(PrunedGraph* part) {
  // The body of a function runs where its call is, whatever its nodes wish.
  for (const auto& node : part->graph->nodes()) {
    if (node != nullptr) node->set_device("");
  }
  RETURN_IF_ERROR(PlaceGraph(devices(), {.allow_soft_placement = true}, part->graph.get()));
  return RewriteGraph(options_.rewrite, part);
}

StatusOr<std::shared_ptr<const Plan>> TaskSession::CompilePart(PrunedGraph part) {
  RETURN_IF_ERROR(RewriteGraph(options_.rewrite, &part));
  return Compile(std::move(part), MakeCompileOptions());
}

StepContext TaskSession::NewStep() {
  StepContext step;
  step.resources = resources_;
  step.functions = functions_.get();
  step.pool = devices_.pool;
  return step;
}

}  // namespace millstream
