// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/recorded_roles.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/match.h"
#include "millstream/base/logging.h"
#include "millstream/framework/device_kernel.h"
#include "millstream/framework/device_kernels.h"
#include "millstream/framework/device_op_role.h"

namespace millstream::internal {
namespace {

// kFromShapes: on the host, or a copy from there, and a function of shapes that the device part knows.
enum class Role { kBefore, kUpload, kOnDevice, kFromShapes, kDownload, kAfter, kUnfit };

// Which node keeps a step from being recorded, for those who ask.
void Explain(const PlanNode& node) {
  static const bool wanted = std::getenv("MILLSTREAM_LOG_RECORDING") != nullptr;
  if (!wanted) return;
  LogInfo(absl::StrCat("steps are not recorded because of ", node.node->op().def.name, " '", node.node->name(), "' on ",
                       node.device->name()));
}

class RoleFinder {
 public:
  explicit RoleFinder(const Plan& plan) : plan_(plan), role_(plan.nodes.size(), Role::kBefore) {}

  std::optional<NodeRoles> Run() {
    if (plan_.control_flow) return std::nullopt;
    FindProducers();
    bool has_device_part = false;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      role_[i] = RoleOf(static_cast<int32_t>(i));
      if (role_[i] == Role::kUnfit) {
        Explain(plan_.nodes[i]);
        return std::nullopt;
      }
      has_device_part |= role_[i] == Role::kOnDevice;
      AddToLists(static_cast<int32_t>(i));
    }
    if (!has_device_part || !FindHostInputs()) return std::nullopt;
    FindKept();
    FindParallelUpdates();
    return roles_;
  }

 private:
  void FindProducers() {
    producers_.resize(plan_.nodes.size());
    slot_producer_.assign(static_cast<size_t>(plan_.num_slots), -1);
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      for (int k = 0; k < node.num_consumers; ++k) {
        producers_[plan_.consumers[node.consumers + k]].push_back(static_cast<int32_t>(i));
      }
      for (int k = 0; k < node.num_outputs; ++k) slot_producer_[node.outputs + k] = static_cast<int32_t>(i);
    }
  }

  void AddToLists(int32_t i) {
    if (role_[i] == Role::kDownload) return roles_.downloads.push_back(i);
    if (role_[i] == Role::kAfter) return roles_.after.push_back(i);
    if (role_[i] == Role::kBefore) return roles_.before.push_back(i);
    roles_.middle.push_back(i);
    if (role_[i] == Role::kUpload) roles_.uploads.push_back(i);
  }

  // What a node of the host, or a copy from there, waits for.
  Role HostRole(int32_t i, Role independent) const {
    const PlanNode& node = plan_.nodes[i];
    Role role = independent;
    for (const int32_t p : producers_[i]) {
      if (role_[p] == Role::kDownload || role_[p] == Role::kAfter) return Role::kAfter;
      if (role_[p] == Role::kFromShapes) role = Role::kFromShapes;
      if (role_[p] != Role::kOnDevice) continue;
      if (!ReadsOnHost(node, p)) return Role::kAfter;
      role = Role::kFromShapes;
    }
    return role == Role::kFromShapes && node.node->op().def.stateful ? Role::kUnfit : role;
  }

  // Whether some input of `node` is a result of `producer` in host memory.
  bool ReadsOnHost(const PlanNode& node, int32_t producer) const {
    for (int k = 0; k < node.num_inputs; ++k) {
      const int32_t slot = plan_.inputs[node.inputs + k];
      if (slot >= 0 && slot_producer_[slot] == producer && IsHostOutput(producer, slot)) return true;
    }
    return false;
  }

  StatusOr<ArgMemory> MemoryOf(int32_t i) const {
    const Node& node = *plan_.nodes[i].node;
    ASSIGN_OR_RETURN(const KernelDef* kernel,
                     FindKernel(node.op(), plan_.nodes[i].device->attributes().type, node.attrs(), node.name()));
    return MemoryOfArgs(node.op().def, *kernel, node.attrs());
  }
  bool IsHostOutput(int32_t i, int32_t slot) const {
    const StatusOr<ArgMemory> memory = MemoryOf(i);
    return memory.ok() && !IsRef(plan_.slot_types[slot]) && memory->host_outputs[slot - plan_.nodes[i].outputs];
  }

  // Kernels of a device that work on the host: sizes, places, predicates.
  bool IsAllOnHost(int32_t i) const {
    const StatusOr<ArgMemory> memory = MemoryOf(i);
    if (!memory.ok() || memory->host_inputs.size() + memory->host_outputs.size() == 0) return false;
    const auto all = [](const std::vector<bool>& host) {
      return std::all_of(host.begin(), host.end(), [](bool h) { return h; });
    };
    return all(memory->host_inputs) && all(memory->host_outputs);
  }

  Role RoleOf(int32_t i) {
    const PlanNode& node = plan_.nodes[i];
    Accelerator* const device = AsAccelerator(node.device);
    const DeviceOpRole role = RoleOnDevice(node.node->op());
    if (device == nullptr || role == DeviceOpRole::kVariable || IsAllOnHost(i)) {
      if (node.async != nullptr || node.kind != NodeKind::kOp) return Role::kUnfit;
      return HostRole(i, Role::kBefore);
    }
    if (roles_.device == nullptr) roles_.device = device;
    if (roles_.device != device || !device->CanRecord()) return Role::kUnfit;
    if (role == DeviceOpRole::kCopyToHost) return Role::kDownload;
    if (role == DeviceOpRole::kCopyToDevice) {
      const Role copied = HostRole(i, Role::kUpload);
      return copied == Role::kAfter ? Role::kUnfit : copied;
    }
    for (const int32_t p : producers_[i]) {
      if (role_[p] == Role::kDownload || role_[p] == Role::kAfter) return Role::kUnfit;
    }
    if (node.async != nullptr || node.kind != NodeKind::kOp) return Role::kUnfit;
    if (role == DeviceOpRole::kPassesOn) return Role::kOnDevice;
    const auto* kernel = dynamic_cast<const DeviceKernel*>(node.kernel);
    return kernel != nullptr && kernel->IsRepeatable() ? Role::kOnDevice : Role::kUnfit;
  }

  // False if what the device part reads on the host cannot be compared from step to step.
  bool FindHostInputs() {
    std::set<int32_t> inputs;
    for (const int32_t i : roles_.middle) {
      const PlanNode& node = plan_.nodes[i];
      if (role_[i] != Role::kOnDevice && role_[i] != Role::kFromShapes) continue;
      for (int k = 0; k < node.num_inputs; ++k) {
        const int32_t slot = plan_.inputs[node.inputs + k];
        if (slot < 0) continue;
        const int32_t producer = slot_producer_[slot];
        if (producer >= 0 && role_[producer] != Role::kBefore) continue;
        const DType type = plan_.slot_types[slot];
        if (!IsRef(type) && !IsPlainBytes(type) && type != DType::kResource) return false;
        inputs.insert(slot);
      }
    }
    roles_.host_inputs.assign(inputs.begin(), inputs.end());
    return true;
  }

  // Updates that touch other variables than those before them, and take no memory: they may run side by side.
  static bool IsDenseUpdate(const PlanNode& node) {
    const OpDef& op = node.node->op().def;
    return node.update && absl::StrContains(op.name, "Apply") &&
           std::none_of(op.inputs.begin(), op.inputs.end(), [](const ArgDef& arg) { return arg.name == "indices"; });
  }

  void FindParallelUpdates() {
    std::set<int32_t> group;    // nodes that run side by side so far
    std::set<int32_t> touched;  // slots of their variables
    for (size_t at = 0; at < roles_.middle.size(); ++at) {
      const int32_t i = roles_.middle[at];
      const PlanNode& node = plan_.nodes[i];
      std::set<int32_t> mine;
      for (int k = 0; k < node.num_inputs; ++k) {
        const int32_t slot = plan_.inputs[node.inputs + k];
        if (slot >= 0 && (IsRef(plan_.slot_types[slot]) || plan_.slot_types[slot] == DType::kResource))
          mine.insert(slot);
      }
      const bool fits =
          IsDenseUpdate(node) &&
          std::none_of(producers_[i].begin(), producers_[i].end(), [&](int32_t p) { return group.count(p) > 0; }) &&
          std::none_of(mine.begin(), mine.end(), [&](int32_t slot) { return touched.count(slot) > 0; });
      if (!fits) {
        group.clear();
        touched.clear();
        continue;
      }
      if (group.empty() || roles_.parallel.empty() || roles_.parallel.back().second != at) {
        roles_.parallel.emplace_back(at, at);
      }
      roles_.parallel.back().second = at + 1;
      group.insert(i);
      touched.insert(mine.begin(), mine.end());
    }
    std::erase_if(roles_.parallel, [](const auto& range) { return range.second - range.first < 2; });
  }

  void FindKept() {
    std::set<int32_t> wanted(plan_.ret_slots.begin(), plan_.ret_slots.end());
    for (const std::vector<int32_t>* list : {&roles_.downloads, &roles_.after}) {
      for (const int32_t i : *list) {
        const int32_t* const inputs = plan_.inputs.data() + plan_.nodes[i].inputs;
        wanted.insert(inputs, inputs + plan_.nodes[i].num_inputs);
      }
    }
    for (const int32_t slot : wanted) {
      if (slot < 0 || slot >= plan_.num_slots || slot_producer_[slot] < 0) continue;
      const Role role = role_[slot_producer_[slot]];
      if (role == Role::kOnDevice || role == Role::kFromShapes || role == Role::kUpload) roles_.kept.push_back(slot);
    }
  }

  const Plan& plan_;
  std::vector<Role> role_;
  std::vector<std::vector<int32_t>> producers_;
  std::vector<int32_t> slot_producer_;  // -1: an argument
  NodeRoles roles_;
};

}  // namespace

std::optional<NodeRoles> FindRoles(const Plan& plan) { return RoleFinder(plan).Run(); }

}  // namespace millstream::internal
