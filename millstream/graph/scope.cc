// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/scope.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "millstream/graph/control_flow.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {

struct Scope::Shared {
  explicit Shared(std::shared_ptr<Graph> g) : graph(std::move(g)), refiner(*graph) {}

  // Marks `name` and the scopes around it as used.
  void MarkUsed(absl::string_view name) {
    for (size_t slash = name.find('/'); slash != absl::string_view::npos; slash = name.find('/', slash + 1)) {
      names.try_emplace(absl::AsciiStrToLower(name.substr(0, slash)), 1);
    }
    names.try_emplace(absl::AsciiStrToLower(name), 1);
  }

  // Names that differ only in case count as equal, as in TensorFlow.
  std::string Unique(absl::string_view name) {
    const std::string key = absl::AsciiStrToLower(name);
    int& next = names[key];
    if (next == 0 && graph->Find(name) == nullptr) {
      next = 1;
      return std::string(name);
    }
    for (int i = std::max(next, 1);; ++i) {
      std::string candidate = absl::StrCat(name, "_", i);
      if (graph->Find(candidate) != nullptr) continue;
      if (!names.try_emplace(absl::StrCat(key, "_", i), 1).second) continue;
      names[key] = i + 1;
      return candidate;
    }
  }

  std::shared_ptr<Graph> graph;
  ShapeRefiner refiner;
  Status status;
  std::map<std::string, std::vector<Output>> collections;
  absl::flat_hash_map<std::string, int> names;  // in lower case; the number to try next
};

struct Scope::Dependencies {
  std::vector<Node*> nodes;
  absl::flat_hash_set<int> made;  // ids of the nodes that were made in the scope
};

namespace {

// The parts of a device name in their order: job, replica, task, device.
using DeviceParts = std::array<std::string, 4>;

Status ParseDevice(absl::string_view device, DeviceParts* parts) {
  for (absl::string_view part : absl::StrSplit(device, '/', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> kv = absl::StrSplit(part, absl::MaxSplits(':', 1));
    const std::string key = absl::AsciiStrToLower(kv.first);
    if (key == "job")
      (*parts)[0] = std::string(kv.second);
    else if (key == "replica")
      (*parts)[1] = std::string(kv.second);
    else if (key == "task")
      (*parts)[2] = std::string(kv.second);
    else if (key == "device")
      (*parts)[3] = std::string(kv.second);
    else if (key == "cpu" || key == "gpu")
      (*parts)[3] = absl::StrCat(absl::AsciiStrToUpper(key), ":", kv.second);
    else
      return errors::InvalidArgument("Malformed device specification '", device, "'");
  }
  return OkStatus();
}

StatusOr<std::string> MergeDevices(absl::string_view outer, absl::string_view inner) {
  DeviceParts parts;
  RETURN_IF_ERROR(ParseDevice(outer, &parts));
  RETURN_IF_ERROR(ParseDevice(inner, &parts));
  static constexpr const char* kKeys[] = {"/job:", "/replica:", "/task:", "/device:"};
  std::string merged;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].empty()) absl::StrAppend(&merged, kKeys[i], parts[i]);
  }
  return merged;
}

// How many inputs each variable-length argument takes: counts that attributes give are known; one group (arguments of
// one number attribute, or one list) may take what is left.
Status ArgCounts(const OpDef& op, const AttrMap& attrs, int64_t num_inputs, std::vector<int64_t>* counts) {
  std::string open;  // the attribute whose count is not known
  int64_t sharers = 0, left = num_inputs;
  for (const ArgDef& arg : op.inputs) {
    const std::string& attr = arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
    int64_t count = 1;
    if (!attr.empty()) {
      count = -1;
      if (const AttrValue* value = attrs.Find(attr)) {
        if (const int64_t* n = value->get<int64_t>())
          count = *n;
        else if (const auto* list = value->get<AttrValue::DTypes>())
          count = static_cast<int64_t>(list->size());
        else
          return errors::InvalidArgument("Attr '", attr, "' has the wrong type");
        if (count < 0) return errors::InvalidArgument("Attr '", attr, "' is negative");
      }
    }
    counts->push_back(count);
    if (count >= 0) {
      left -= count;
    } else if (open.empty() || open == attr) {
      open = attr;
      ++sharers;
    } else {
      return errors::InvalidArgument("Attrs '", open, "' and '", attr, "' cannot both be inferred from the inputs");
    }
  }
  if (left < 0 || (sharers == 0 && left > 0) || (sharers > 0 && left % sharers != 0)) {
    return errors::InvalidArgument(num_inputs, " inputs do not fit Op<", op.Signature(), ">");
  }
  for (int64_t& count : *counts)
    if (count < 0) count = left / sharers;
  return OkStatus();
}

Status InferAttrs(const OpDef& op, const std::vector<Output>& inputs, AttrMap* attrs) {
  std::vector<int64_t> counts;
  RETURN_IF_ERROR(ArgCounts(op, *attrs, static_cast<int64_t>(inputs.size()), &counts));
  size_t at = 0;
  for (size_t a = 0; a < op.inputs.size(); ++a) {
    const ArgDef& arg = op.inputs[a];
    const size_t end = at + static_cast<size_t>(counts[a]);
    if (!arg.number_attr.empty() && !attrs->Has(arg.number_attr)) attrs->Set(arg.number_attr, counts[a]);
    if (!arg.type_attr.empty() && end > at && !attrs->Has(arg.type_attr)) attrs->Set(arg.type_attr, inputs[at].dtype());
    if (!arg.type_list_attr.empty() && !attrs->Has(arg.type_list_attr)) {
      AttrValue::DTypes types;
      for (size_t i = at; i < end; ++i) types.push_back(inputs[i].dtype());
      attrs->Set(arg.type_list_attr, std::move(types));
    }
    at = end;
  }
  return OkStatus();
}

Status InNode(const Status& s, absl::string_view name) {
  if (absl::StrContains(s.message(), name)) return s;
  return Status(s.code(), absl::StrCat(s.message(), "\n\t [[{{node ", name, "}}]]"));
}

}  // namespace

Scope Scope::Root() { return Scope(std::make_shared<Graph>()); }

Scope::Scope(std::shared_ptr<Graph> graph) : shared_(std::make_shared<Shared>(std::move(graph))) {
  for (const auto& node : shared_->graph->nodes()) {
    if (node != nullptr) shared_->MarkUsed(node->name());
  }
  if (shared_->graph->num_nodes() > 0) Fail(shared_->refiner.AddAll());
}

const std::shared_ptr<Graph>& Scope::graph() const { return shared_->graph; }
ShapeRefiner& Scope::shapes() const { return shared_->refiner; }
const Status& Scope::status() const { return shared_->status; }
void Scope::Fail(Status status) const {
  if (shared_->status.ok()) shared_->status = std::move(status);
}
std::string Scope::UniqueName(absl::string_view name) const { return shared_->Unique(absl::StrCat(prefix_, name)); }

Scope Scope::NameScope(absl::string_view name) const {
  Scope s = *this;
  s.op_name_.clear();
  if (name.empty() || absl::EndsWith(name, "/"))
    s.prefix_ = std::string(name);
  else
    s.prefix_ = UniqueName(name) + "/";
  return s;
}

Scope Scope::WithOpName(absl::string_view name) const {
  Scope s = *this;
  s.op_name_ = std::string(name);
  return s;
}

Scope Scope::WithDevice(absl::string_view device) const {
  Scope s = *this;
  StatusOr<std::string> merged = MergeDevices(device_, device);
  if (merged.ok())
    s.device_ = *std::move(merged);
  else
    Fail(merged.status());
  return s;
}

Scope Scope::WithNoDevice() const {
  Scope s = *this;
  s.device_.clear();
  s.placements_.clear();
  return s;
}

Scope Scope::WithDeviceFunction(DeviceFunction place) const {
  Scope s = *this;
  s.placements_.push_back({std::make_shared<DeviceFunction>(std::move(place)), std::move(s.device_)});
  s.device_.clear();
  return s;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): callers pass lists in braces.
Scope Scope::WithControlDependencies(std::vector<Node*> nodes) const {
  Scope s = *this;
  auto dependencies = std::make_shared<Dependencies>();
  for (Node* node : nodes) {
    auto& all = dependencies->nodes;
    if (node != nullptr && std::find(all.begin(), all.end(), node) == all.end()) all.push_back(node);
  }
  if (!dependencies->nodes.empty()) s.control_.push_back(std::move(dependencies));
  return s;
}

Scope Scope::WithNoControlDependencies() const {
  Scope s = *this;
  s.control_.clear();
  return s;
}

void Scope::Colocation::Add(const Node& node) {
  std::vector<std::string> more;
  if (const AttrValue* value = node.attrs().Find("_class")) {
    if (const auto* list = value->get<AttrValue::Strings>()) more = *list;
  }
  std::erase_if(more, [](const std::string& g) { return !absl::StartsWith(g, "loc:@"); });
  if (more.empty()) more.push_back(absl::StrCat("loc:@", node.name()));
  groups.insert(groups.end(), more.begin(), more.end());
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (!node.device().empty()) device = std::string(node.device());
}

Scope Scope::ColocateWith(Node* node) const {
  Scope s = *this;
  if (node == nullptr) return s;
  s.colocation_.Add(*node);
  return s.WithNoDevice();
}

Scope Scope::ColocateWithName(absl::string_view name) const {
  Scope s = *this;
  if (s.colocation_.groups.empty()) s.colocation_.groups.push_back(absl::StrCat("loc:@", name));
  return s;
}

Scope Scope::WithNoColocation() const {
  Scope s = *this;
  s.colocation_ = {};
  return s;
}

Scope Scope::WithContext(std::shared_ptr<FlowContext> context) const {
  Scope s = *this;
  s.context_ = std::move(context);
  s.control_.clear();
  return s;
}

namespace {
bool TakesReference(const OpDef& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [](const ArgDef& arg) { return arg.is_ref; });
}
}  // namespace

StatusOr<Node*> Scope::MakeNode(absl::string_view type, std::vector<Output> inputs, AttrMap attrs) const {
  Graph& graph = *shared_->graph;
  const absl::string_view own = op_name_.empty() ? type : absl::string_view(op_name_);
  Graph::NodeSpec spec;
  // "name/" is taken as it is.
  spec.name = absl::EndsWith(own, "/") ? std::string(absl::StripSuffix(own, "/")) : UniqueName(own);
  StatusOr<const OpEntry*> op = OpRegistry::Global().Lookup(type);
  if (!op.ok()) return InNode(op.status(), spec.name);
  spec.op = *op;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) return errors::InvalidArgument("Node '", spec.name, "' (", type, "): input ", i, " is missing");
    if (inputs[i].index < 0 || inputs[i].index >= inputs[i].node->num_outputs()) {
      return errors::InvalidArgument("Node '", spec.name, "' (", type, "): input ", i, " is output ", inputs[i].index,
                                     " of '", inputs[i].node->name(), "', which has ", inputs[i].node->num_outputs());
    }
  }
  if (Status s = InferAttrs(spec.op->def, inputs, &attrs); !s.ok()) return InNode(s, spec.name);
  Colocation colocation = ColocationFor(spec.op->def, inputs);
  if (!colocation.groups.empty() && !attrs.Has("_class")) attrs.Set("_class", std::move(colocation.groups));
  spec.attrs = std::move(attrs);
  spec.inputs = std::move(inputs);
  spec.control_inputs = ControlInputs(spec.inputs);
  // Constants of a loop have values in its last round too, where the body must not run any more.
  if (context_ != nullptr && spec.control_inputs.empty() &&
      std::all_of(spec.inputs.begin(), spec.inputs.end(), [](const Output& in) { return IsConstantEnter(*in.node); })) {
    if (Node* pivot = context_->pivot()) spec.control_inputs.push_back(pivot);
  }
  // Beside a variable without a device: devices of the scope do not matter, as in TensorFlow.
  const bool anywhere = colocation.device.empty() && TakesReference(spec.op->def);
  spec.device = colocation.device.empty() && !anywhere ? device_ : colocation.device;
  const std::string name = spec.name;
  StatusOr<Node*> node = graph.AddNode(std::move(spec));
  if (!node.ok()) return InNode(node.status(), name);
  Status added = shared_->refiner.AddNode(**node);
  if (added.ok() && colocation.device.empty() && !anywhere) added = Place(*node);
  if (!added.ok()) {
    graph.RemoveNode(*node);
    return added;
  }
  for (const auto& dependencies : control_) dependencies->made.insert((*node)->id());
  return *node;
}

std::vector<Node*> Scope::ControlInputs(const std::vector<Output>& inputs) const {
  std::vector<Node*> all;
  for (const auto& dependencies : control_) {
    const auto made_here = [&](const Output& in) { return dependencies->made.contains(in.node->id()); };
    if (std::any_of(inputs.begin(), inputs.end(), made_here)) continue;
    for (Node* node : dependencies->nodes) {
      const auto same = [node](const Output& in) { return in.node == node; };
      if (std::any_of(inputs.begin(), inputs.end(), same)) continue;
      if (std::find(all.begin(), all.end(), node) == all.end()) all.push_back(node);
    }
  }
  return all;
}

// That of the scope, and of the nodes whose references are taken.
Scope::Colocation Scope::ColocationFor(const OpDef& op, const std::vector<Output>& inputs) const {
  Colocation colocation = colocation_;
  for (size_t i = 0; i < inputs.size() && i < op.inputs.size(); ++i) {
    if (op.inputs[i].is_ref) colocation.Add(*inputs[i].node);
  }
  return colocation;
}

Status Scope::Place(Node* node) const {
  for (auto placement = placements_.rbegin(); placement != placements_.rend(); ++placement) {
    node->set_device((*placement->function)(*node));
    ASSIGN_OR_RETURN(std::string merged, MergeDevices(placement->outside, node->device()));
    node->set_device(merged);
  }
  return OkStatus();
}

Node* Scope::AddWith(absl::string_view type, std::vector<Output> inputs, AttrMap attrs) const {
  if (!ok()) return nullptr;
  if (context_ != nullptr) {
    if (const Scope* other = context_->Elsewhere(type, inputs)) {
      return other->AddWith(type, std::move(inputs), std::move(attrs));
    }
    for (Output& in : inputs) in = Import(in);
    if (!ok()) return nullptr;
  }
  StatusOr<Node*> node = MakeNode(type, std::move(inputs), std::move(attrs));
  if (!node.ok()) {
    Fail(node.status());
    return nullptr;
  }
  if (context_ != nullptr) context_->Added(*node);
  return *node;
}

Node* Scope::Add(absl::string_view type, std::vector<Output> inputs, Attrs attrs) const {
  AttrMap map;
  for (const auto& [name, value] : attrs) map.Set(name, value);
  return AddWith(type, std::move(inputs), std::move(map));
}

Node* Scope::Add(absl::string_view type, std::vector<Output> inputs,
                 // NOLINTNEXTLINE(performance-unnecessary-value-param): the values are moved out of it.
                 std::vector<std::pair<std::string, AttrValue>> attrs) const {
  AttrMap map;
  for (auto& [name, value] : attrs) map.Set(name, std::move(value));
  return AddWith(type, std::move(inputs), std::move(map));
}

Output Scope::Const(Tensor value) const {
  const DType dtype = value.dtype();
  return Op("Const", {}, {{"dtype", dtype}, {"value", std::move(value)}});
}

void Scope::AddToCollection(const std::string& name, Output value) const {
  shared_->collections[name].push_back(value);
}

const std::vector<Output>& Scope::Collection(const std::string& name) const { return shared_->collections[name]; }

PartialShape Scope::ShapeOf(Output output) const { return output ? shared_->refiner.shape(output) : PartialShape(); }

bool Scope::ConstantValue(Output output, Tensor* value) const {
  return output && shared_->refiner.ConstantValue(output, value);
}

}  // namespace millstream
