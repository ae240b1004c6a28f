// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/variables/device_setter.h"

#include <algorithm>

#include "absl/strings/strip.h"
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
                                                        "DecisionTreeResource"};
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

// The first node that this one is to be beside of; null if none.
const Node* Beside(const Graph& graph, const Node& node) {
  const AttrValue* groups = node.attrs().Find("_class");
  const auto* names = groups == nullptr ? nullptr : groups->get<AttrValue::Strings>();
  if (names == nullptr || names->empty()) return nullptr;
  absl::string_view name = names->front();
  return absl::ConsumePrefix(&name, "loc:@") ? graph.Find(name) : nullptr;
}

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
  if (StatusOr<DeviceName> ps = DeviceName::Parse(options.ps_device); !ps.ok()) scope.Fail(ps.status());
  return VariableScope(scope).WithDeviceFunction(ReplicaDeviceSetter(options)).WithOpDevice(options.worker_device);
}

void WithDeviceFunction(const Scope& scope, const DeviceFunction& place, const std::function<void()>& build) {
  const Graph& graph = *scope.graph();
  const int first = graph.id_limit();
  build();
  // In the order of their making: what a node is beside of has its place already.
  for (int id = first; id < graph.id_limit(); ++id) {
    Node* node = graph.nodes()[static_cast<size_t>(id)].get();
    if (node == nullptr) continue;
    const Node* beside = Beside(graph, *node);
    node->set_device(beside != nullptr && beside != node ? std::string(beside->device()) : place(*node));
  }
}

}  // namespace millstream
