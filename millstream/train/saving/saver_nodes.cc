// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/saver_nodes.h"

#include <map>
#include <span>

#include "absl/strings/str_format.h"
#include "millstream/base/random.h"
#include "millstream/framework/device_name.h"
#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

using Saveables = std::span<const Saveable>;

// CPU 0 of the same task.
StatusOr<std::string> CpuOf(absl::string_view device) {
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(device));
  name.type = "CPU";
  name.index = 0;
  return name.ToString();
}

Tensor NamesOf(Saveables saveables, std::string Saveable::*field) {
  std::vector<std::string> values;
  for (const Saveable& v : saveables) values.push_back(v.*field);
  return Tensor::Vector(values);
}

std::vector<Output> ValuesOf(const Scope& s, Saveables saveables) {
  std::vector<Output> values;
  for (const Saveable& v : saveables) {
    values.push_back(v.variable.dtype() == DType::kResource ? FindVariable(s, v.variable).value : v.variable);
  }
  return values;
}

// Writes these values and gives the file's name.
Output AddSave(const Scope& s, Output filename, Saveables saveables, const std::vector<Output>& values) {
  std::vector<Operand> inputs = {filename, NamesOf(saveables, &Saveable::name),
                                 NamesOf(saveables, &Saveable::slice_spec)};
  inputs.insert(inputs.end(), values.begin(), values.end());
  Node* save = AddNamed(s, "", "SaveV2", inputs);
  if (save == nullptr) return {};
  const Scope after = s.ColocateWith(filename.node).WithControlDependencies({save});
  return after.WithOpName("control_dependency").Op("Identity", {filename});
}

// With `reshape`: of the variable's own shape.
Output Reshaped(const Scope& s, const Saveable& saveable, Output value) {
  const GraphVariable variable = FindVariable(s, saveable.variable);
  const PartialShape& shape = variable.shape;
  if (!shape.IsFullyDefined()) return s.Op("Reshape", {value, s.Op("Shape", {variable.value})});
  return OpNamed(s, "", "Reshape", {value, std::vector<int32_t>(shape.dims().begin(), shape.dims().end())});
}

Node* AddAssign(const Scope& s, const Saveable& saveable, Output value, bool reshape) {
  if (reshape) value = Reshaped(s, saveable, value);
  if (saveable.variable.dtype() == DType::kResource) {
    const Scope there = s.WithDevice(saveable.variable.node->device());
    return there.Add("AssignVariableOp", {saveable.variable, there.Op("Identity", {value})});
  }
  const bool check = !reshape && s.ShapeOf(saveable.variable).IsFullyDefined();
  return s.Add("Assign", {saveable.variable, value}, {{"validate_shape", check}});
}

StatusOr<std::vector<Node*>> AddRestore(const Scope& s, Output filename, Saveables saveables,
                                        const SaverOptions& options) {
  std::vector<DType> types;
  for (const Saveable& v : saveables) types.push_back(TypeOf(FindVariable(s, v.variable)));
  RETURN_IF_ERROR(s.status());
  const Scope cpu = s.WithDevice("/device:CPU:0");
  Node* restore = AddNamed(cpu, "", "RestoreV2",
                           {filename, NamesOf(saveables, &Saveable::name), NamesOf(saveables, &Saveable::slice_spec)},
                           {{"dtypes", types}});
  RETURN_IF_ERROR(s.status());
  std::vector<Node*> assigns;
  for (size_t i = 0; i < saveables.size(); ++i) {
    const bool wait = options.restore_sequentially && !assigns.empty();
    const Scope after = wait ? s.WithControlDependencies({assigns.back()}) : s;
    assigns.push_back(AddAssign(after, saveables[i], Output(restore, static_cast<int>(i)), options.reshape));
    RETURN_IF_ERROR(s.status());
  }
  return assigns;
}

using Shards = std::map<std::string, std::vector<Saveable>>;  // by the CPU of the variables' tasks

StatusOr<Shards> GroupByTask(const std::vector<Saveable>& variables) {
  Shards shards;
  for (const Saveable& v : variables) {
    ASSIGN_OR_RETURN(const std::string device, CpuOf(v.variable.node->device()));
    shards[device].push_back(v);
  }
  return shards;
}

// Each task writes its own variables aside; then the parts are joined under the final name.
// `kept`: the values, by shard, in place of those of now.
StatusOr<Output> AddShardedSave(const Scope& s, Output filename, const Shards& shards,
                                const std::vector<std::vector<Output>>& kept = {}) {
  const Scope last = s.WithDevice(shards.rbegin()->first);
  const Output suffix =
      last.Const(Tensor::Scalar(absl::StrFormat("_temp_%016x%016x/part", RandomNumber(), RandomNumber())));
  const Output temporary = last.WithOpName("StringJoin").Op("StringJoin", {filename, suffix});
  const Output count = last.WithOpName("num_shards").Const(static_cast<int32_t>(shards.size()));
  std::vector<Output> prefixes;
  std::vector<Node*> saves;
  for (const auto& [device, saveables] : shards) {
    const Scope here = s.WithDevice(device);
    const size_t index = prefixes.size();
    const Output shard = OpNamed(here, "", "ShardedFilename", {temporary, static_cast<int>(index), count});
    prefixes.push_back(shard);
    saves.push_back(AddSave(here, shard, saveables, kept.empty() ? ValuesOf(here, saveables) : kept[index]).node);
    RETURN_IF_ERROR(s.status());
  }
  const Scope after = last.WithControlDependencies(saves);
  const Output packed = after.WithOpName("MergeV2Checkpoints/checkpoint_prefixes").Op("Pack", prefixes);
  Node* merge =
      after.WithOpName("MergeV2Checkpoints").Add("MergeV2Checkpoints", {packed, filename}, {{"delete_old_dirs", true}});
  RETURN_IF_ERROR(s.status());
  return after.WithControlDependencies({merge}).WithOpName("Identity").Op("Identity", {filename});
}

StatusOr<Node*> AddShardedRestore(const Scope& s, Output filename, const Shards& shards, const SaverOptions& options) {
  std::vector<Node*> restored;
  for (const auto& [device, saveables] : shards) {
    const Scope here = s.WithDevice(device);
    ASSIGN_OR_RETURN(const std::vector<Node*> assigns, AddRestore(here, filename, saveables, options));
    restored.push_back(Group(here, assigns, "restore_shard"));
  }
  return Group(s, restored, "restore_all");
}

StatusOr<bool> AnyOnATask(const Shards& shards) {
  for (const auto& [device, saveables] : shards) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(device));
    if (name.job.has_value()) return true;
  }
  return false;
}

Status AddWayThroughChief(const Scope& scope, const std::vector<Saveable>& variables, const Shards& shards,
                          const SaverOptions& options, SaverNodes* nodes) {
  const Scope s = scope.NameScope("through_chief").WithNoDevice();
  std::vector<Output> contents;
  for (const auto& [device, saveables] : shards) {
    contents.push_back(s.WithDevice(device).WithOpName("read").Op("ReadFile", {nodes->filename}));
  }
  nodes->probe = s.WithOpName("probe").Op("Pack", contents);
  nodes->save_through_chief = AddSave(s, nodes->filename, variables, ValuesOf(s, variables));
  ASSIGN_OR_RETURN(const std::vector<Node*> assigns, AddRestore(s, nodes->filename, variables, options));
  nodes->restore_through_chief = Group(s, assigns, "restore_all");
  return s.status();
}

Status AddBackground(const Scope& scope, const Shards& shards, bool sharded, SaverNodes* nodes) {
  const Scope s = scope.NameScope("background");
  std::vector<Node*> keeps;
  std::vector<std::vector<Output>> kept;
  std::vector<Saveable> all;
  std::vector<Output> all_kept;
  for (const auto& [device, saveables] : shards) {
    const Scope here = s.WithDevice(device);
    // Of all chiefs that follow each other.
    const std::string area = absl::StrCat(s.name_prefix(), kept.size());
    const std::vector<Output> values = ValuesOf(here, saveables);
    std::vector<DType> types;
    for (const Output& value : values) types.push_back(value.dtype());
    keeps.push_back(here.Add("Stage", values, {{"shared_name", area}}));
    Node* take = here.Add("Unstage", {}, {{"dtypes", types}, {"shared_name", area}});
    nodes->kept_sizes.push_back(here.Op("StageSize", {}, {{"dtypes", types}, {"shared_name", area}}));
    RETURN_IF_ERROR(s.status());
    nodes->kept_takes.push_back(take);
    std::vector<Output>& shard = kept.emplace_back();
    for (int i = 0; i < take->num_outputs(); ++i) shard.emplace_back(take, i);
    all.insert(all.end(), saveables.begin(), saveables.end());
    all_kept.insert(all_kept.end(), shard.begin(), shard.end());
  }
  nodes->keep = Group(s, keeps, "keep");
  if (sharded) {
    ASSIGN_OR_RETURN(nodes->save_kept, AddShardedSave(s, nodes->filename, shards, kept));
  } else {
    nodes->save_kept = AddSave(s, nodes->filename, all, all_kept);
  }
  if (nodes->probe) nodes->save_kept_through_chief = AddSave(s, nodes->filename, all, all_kept);
  return s.status();
}

}  // namespace

StatusOr<SaverNodes> AddSaverNodes(const Scope& scope, const std::vector<Saveable>& variables,
                                   const SaverOptions& options) {
  RETURN_IF_ERROR(scope.status());
  const Scope s = scope.NameScope("").WithNoControlDependencies().NameScope(options.name);
  const PartialShape scalar{Shape()};
  SaverNodes nodes;
  const Output model = s.WithOpName("filename/input").Const(Tensor::Scalar("model"));
  const Output filename = s.WithOpName("filename").Op("PlaceholderWithDefault", {model}, {{"shape", scalar}});
  nodes.filename = s.WithOpName("Const").Op("PlaceholderWithDefault", {filename}, {{"shape", scalar}});
  ASSIGN_OR_RETURN(const Shards shards, GroupByTask(variables));
  if (options.sharded) {
    ASSIGN_OR_RETURN(nodes.save, AddShardedSave(s, nodes.filename, shards));
    ASSIGN_OR_RETURN(nodes.restore, AddShardedRestore(s, nodes.filename, shards, options));
    ASSIGN_OR_RETURN(const bool at_tasks, AnyOnATask(shards));
    if (at_tasks) RETURN_IF_ERROR(AddWayThroughChief(s, variables, shards, options, &nodes));
  } else {
    nodes.save = AddSave(s, nodes.filename, variables, ValuesOf(s, variables));
    ASSIGN_OR_RETURN(const std::vector<Node*> assigns, AddRestore(s, nodes.filename, variables, options));
    nodes.restore = Group(s, assigns, "restore_all");
  }
  if (options.background) RETURN_IF_ERROR(AddBackground(s, shards, options.sharded, &nodes));
  RETURN_IF_ERROR(s.status());
  return nodes;
}

}  // namespace millstream
