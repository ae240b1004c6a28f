// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/variables/device_setter.h"

#include <algorithm>

#include "millstream/framework/device_name.h"

namespace millstream {
namespace {

const std::vector<std::string>& StandardPsOps() {
  static const auto* ops = new std::vector<std::string>{"Variable",
                                                        "VariableV2",
                                                        "AutoReloadVariable",
                                                        "MutableHashTable",
                                                        "MutableHashTableV2",
                                                        "MutableHashTableOfTensors",
                                                        "MutableHashTableOfTensorsV2",
                                                        "MutableDenseHashTable",
                                                        "MutableDenseHashTableV2",
                                                        "VarHandleOp",
                                                        "BoostedTreesEnsembleResourceHandleOp",
                                                        "BoostedTreesQuantileStreamResourceHandleOp",
                                                        "ResourceConditionalAccumulator",
                                                        "DecisionTreeResource",
                                                        "HashEmbedding"};
  return *ops;
}

struct Chooser {
  ReplicaDeviceOptions options;
  DeviceName ps, worker;

  std::string operator()(const Node& node) const {
    StatusOr<DeviceName> current = DeviceName::Parse(node.device());
    if (!current.ok() || (!options.merge_devices && !node.device().empty())) return std::string(node.device());
    const bool to_ps = options.ps_tasks > 0 &&
                       std::find(options.ps_ops.begin(), options.ps_ops.end(), node.type()) != options.ps_ops.end();
    DeviceName from = to_ps ? ps : worker;
    // A variable that was asked onto another job takes no turn.
    if (to_ps && ps.job && (!current->job || current->job == ps.job)) from.task = options.ps_strategy(node);
    current->FillFrom(from);
    return current->ToString();
  }
};

}  // namespace

PsStrategy RoundRobinStrategy(int num_tasks) {
  auto next = std::make_shared<int>(0);
  return [num_tasks, next](const Node&) { return (*next)++ % std::max(1, num_tasks); };
}

PsStrategy GreedyLoadBalancingStrategy(int num_tasks, LoadFunction load) {
  auto loads = std::make_shared<std::vector<double>>(std::max(1, num_tasks), 0.0);
  return [loads, load = std::move(load)](const Node& node) {
    const auto least = std::min_element(loads->begin(), loads->end());
    *least += load(node);
    return static_cast<int>(least - loads->begin());
  };
}

double ByteSizeLoad(const Node& variable) {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  if (!variable.GetAttr("dtype", &dtype).ok() || !variable.GetAttr("shape", &shape).ok() || !shape.IsFullyDefined())
    return 0;
  const double element = dtype == DType::kString ? 16 : static_cast<double>(DTypeSize(dtype));
  return element * static_cast<double>(shape.num_elements());
}

PsStrategy BalanceByBytes(int num_tasks) { return GreedyLoadBalancingStrategy(num_tasks, ByteSizeLoad); }

DeviceFunction ReplicaDeviceSetter(const ReplicaDeviceOptions& options) {
  Chooser chooser{options, {}, {}};
  StatusOr<DeviceName> ps = DeviceName::Parse(options.ps_device), worker = DeviceName::Parse(options.worker_device);
  if (!ps.ok() || !worker.ok()) return [](const Node& node) { return std::string(node.device()); };
  chooser.ps = *std::move(ps);
  chooser.worker = *std::move(worker);
  if (chooser.options.ps_ops.empty()) chooser.options.ps_ops = StandardPsOps();
  if (chooser.options.ps_strategy == nullptr) chooser.options.ps_strategy = RoundRobinStrategy(options.ps_tasks);
  return chooser;
}

VariableScope WithReplicaDevices(const Scope& scope, const ReplicaDeviceOptions& options) {
  for (const std::string& device : {options.ps_device, options.worker_device}) {
    if (StatusOr<DeviceName> name = DeviceName::Parse(device); !name.ok()) scope.Fail(name.status());
  }
  return VariableScope(scope).WithDeviceFunction(ReplicaDeviceSetter(options));
}

}  // namespace millstream
