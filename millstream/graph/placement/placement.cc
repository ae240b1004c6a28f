// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/placement.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "millstream/framework/device_name.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/lower_control_flow.h"

namespace millstream {
namespace {

struct Candidate {
  std::string name;
  std::string type;
  DeviceName parsed;
};

// Nodes that must be on one device.
struct Group {
  DeviceName wish;
  std::vector<Node*> nodes;
  absl::string_view placed;  // where an earlier placement put one of them
};

class Placer {
 public:
  Placer(const std::vector<DeviceAttributes>& devices, const PlacementOptions& options, Graph& graph)
      : devices_(devices), options_(options), graph_(graph), parent_(static_cast<size_t>(graph.id_limit())) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  Status Run() {
    for (const DeviceAttributes& device : devices_) {
      ASSIGN_OR_RETURN(DeviceName parsed, DeviceName::Parse(device.name));
      candidates_.push_back({device.name, device.type, std::move(parsed)});
    }
    if (candidates_.empty()) return errors::InvalidArgument("No devices are available");
    default_task_ = candidates_.front().parsed;
    if (!options_.default_device.empty()) {
      ASSIGN_OR_RETURN(default_task_, DeviceName::Parse(options_.default_device));
    }
    default_task_.type.reset();
    default_task_.index.reset();
    const auto placed = [](const auto& node) { return node == nullptr || !node->assigned_device().empty(); };
    if (std::all_of(graph_.nodes().begin(), graph_.nodes().end(), placed)) return OkStatus();
    RETURN_IF_ERROR(JoinNodes());
    std::vector<bool> alone(parent_.size(), true);
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && Find(node->id()) != node->id()) alone[node->id()] = alone[Find(node->id())] = false;
    }
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      if (!alone[node->id()]) {
        if (!follows_[node->id()]) RETURN_IF_ERROR(AddToGroup(node.get(), &groups_[Find(node->id())]));
      } else if (!placed(node)) {  // most are: no need to keep a group for each
        Group group;
        RETURN_IF_ERROR(AddToGroup(node.get(), &group));
        RETURN_IF_ERROR(PlaceGroup(group));
      }
    }
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && follows_[node->id()]) RETURN_IF_ERROR(AddToGroup(node.get(), &groups_[Find(node->id())]));
    }
    for (auto& [root, group] : groups_) RETURN_IF_ERROR(PlaceGroup(group));
    return OkStatus();
  }

 private:
  int Find(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  // The smaller id leads, so that results do not depend on the order of joins.
  void Join(int a, int b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  Status JoinNodes() {
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      RETURN_IF_ERROR(JoinColocated(*node));
      const bool loop = IsA(*node, OpKind::kWhile);  // stays in one piece
      if (options_.lowers_control_flow && !loop && IsLoweredControlFlow(*node)) continue;
      ASSIGN_OR_RETURN(const std::vector<DType> declared, node->InputTypes());
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Output& in = node->input(i);
        const DType type = in.node->output_type(in.index);
        if ((!IsRef(type) || !IsRef(declared[i])) && type != DType::kResource) continue;
        Join(in.node->id(), node->id());
        follows_[node->id()] = true;
      }
    }
    return OkStatus();
  }

  Status JoinColocated(const Node& node) {
    const AttrValue* value = node.attrs().Find("_class");
    const auto* classes = value == nullptr ? nullptr : value->get<AttrValue::Strings>();
    if (classes == nullptr) return OkStatus();
    for (absl::string_view name : *classes) {
      if (!absl::ConsumePrefix(&name, "loc:@")) continue;
      if (const Node* other = graph_.Find(name)) {
        Join(node.id(), other->id());
      } else {
        // The group may be named after a node that is not here: its members still belong together.
        auto [it, inserted] = absent_.try_emplace(std::string(name), node.id());
        if (!inserted) Join(node.id(), it->second);
      }
    }
    return OkStatus();
  }

  // A call on a device that is known before the graph runs is made there, if the device exists: values travel to it and
  // back as between any two nodes.
  DeviceName AtTarget(const Node& call, const DeviceName& wish) const {
    const Node& from = *call.input(0).node;
    const AttrValue* value = IsA(from, OpKind::kConst) ? from.attrs().Find("value") : nullptr;
    const auto* target = value == nullptr ? nullptr : value->get<Tensor>();
    if (target == nullptr || target->dtype() != DType::kString || target->rank() != 0) return wish;
    StatusOr<DeviceName> named = DeviceName::Parse(target->scalar<std::string>());
    if (!named.ok()) return wish;
    DeviceName there = *std::move(named);
    there.FillFrom(wish);
    const bool exists = std::any_of(candidates_.begin(), candidates_.end(),
                                    [&](const Candidate& c) { return there.Matches(c.parsed); });
    return exists ? there : wish;
  }

  Status AddToGroup(Node* node, Group* group) {
    if (!node->assigned_device().empty()) {
      group->placed = node->assigned_device();
      return OkStatus();
    }
    StatusOr<DeviceName> wish = DeviceName::Parse(node->device());
    if (!wish.ok()) return AtNode(*node, wish.status());
    if (IsA(*node, OpKind::kRemoteCall)) wish = AtTarget(*node, *wish);
    DeviceName merged = group->wish;
    const Status fits = merged.MergeWith(*wish, options_.allow_soft_placement);
    // Who uses a variable goes where the variable is, whatever it wishes itself.
    if (!fits.ok() && !follows_[node->id()]) return AtNode(*node, fits);
    if (fits.ok()) group->wish = std::move(merged);
    group->nodes.push_back(node);
    return OkStatus();
  }

  bool HasKernels(const Group& group, const std::string& type) const {
    return std::all_of(group.nodes.begin(), group.nodes.end(), [&](const Node* node) {
      if (node->op().kernels.empty()) return true;  // fails when it is run, as in TensorFlow
      const bool any = std::any_of(node->op().kernels.begin(), node->op().kernels.end(),
                                   [&](const KernelDef& k) { return k.device_type == type; });
      // The CPU is where everything ends: a node whose types it cannot take fails when it is run, too.
      return any && (type == "CPU" || FindKernel(node->op(), type, node->attrs(), node->name()).ok());
    });
  }

  // The task of the default device comes first; in a task, devices with memory of their own; then the default device.
  int Rank(const Candidate& c) const {
    const bool near = default_task_.Matches(c.parsed);
    return (near ? 4 : 0) + (c.type != "CPU" ? 2 : 0) + (c.name == options_.default_device ? 1 : 0);
  }

  const Candidate* Choose(const Group& group, const DeviceName& wish) const {
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_) {
      if (best != nullptr && Rank(c) <= Rank(*best)) continue;
      if (wish.Matches(c.parsed) && HasKernels(group, c.type)) best = &c;
    }
    return best;
  }

  Status PlaceGroup(Group& group) {
    if (group.nodes.empty()) return OkStatus();
    absl::string_view device = group.placed;
    if (device.empty()) {
      const Candidate* chosen = Choose(group, group.wish);
      if (chosen == nullptr && options_.allow_soft_placement) {
        DeviceName anywhere = group.wish;
        anywhere.type.reset();
        anywhere.index.reset();
        chosen = Choose(group, anywhere);
      }
      if (chosen == nullptr) return Unsatisfied(group);
      device = chosen->name;
    }
    for (Node* node : group.nodes) node->set_assigned_device(device);
    return OkStatus();
  }

  Status Unsatisfied(const Group& group) const {
    const Node& node = *group.nodes.front();
    std::vector<std::string> names;
    for (const Candidate& c : candidates_) names.push_back(c.name);
    const bool known = std::any_of(candidates_.begin(), candidates_.end(),
                                   [&](const Candidate& c) { return group.wish.Matches(c.parsed); });
    return AtNode(node, errors::InvalidArgument(
                            "Cannot assign a device for operation ", node.name(),
                            ": Could not satisfy device specification '", group.wish.ToString(), "' because ",
                            known ? absl::StrCat("no kernel of ", node.type(), " is registered for such devices")
                                  : "no such device is available",
                            ". All available devices [", absl::StrJoin(names, ", "), "]."));
  }

  static Status AtNode(const Node& node, const Status& status) {
    return Status(status.code(), absl::StrCat(status.message(), "\n\t [[{{node ", node.name(), "}}]]"));
  }

  const std::vector<DeviceAttributes>& devices_;
  const PlacementOptions& options_;
  Graph& graph_;
  std::vector<Candidate> candidates_;
  DeviceName default_task_;                                               // of the default device
  std::vector<int> parent_;                                               // union-find over node ids
  std::vector<bool> follows_ = std::vector<bool>(parent_.size(), false);  // by node id: takes a handle or a reference
  absl::flat_hash_map<std::string, int> absent_;
  absl::flat_hash_map<int, Group> groups_;
};

}  // namespace

Status PlaceGraph(const std::vector<DeviceAttributes>& devices, const PlacementOptions& options, Graph* graph) {
  return Placer(devices, options, *graph).Run();
}

}  // namespace millstream
