// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/passes/body_copy.h"

#include <unordered_set>

#include "millstream/framework/device_name.h"
#include "millstream/graph/node_kind.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

constexpr char kInlinedAttr[] = "_inlined";  // see KernelCache

// True if the node's own kernel holds no state: calls of one function share the kernels of its body (a random
// generator, an iterator), and must go on sharing them.
bool StateIsElsewhere(const Node& node) {
  if (node.op().Has(OpTrait::kEffectsOnly)) return true;
  for (const Output& in : node.inputs()) {
    if (in.dtype() == DType::kResource) return true;
  }
  return false;
}

bool ForbidsInlining(const Function& function) {
  const auto& attrs = function.def->attr();
  const auto it = attrs.find("_noinline");
  return it != attrs.end() && it->second.b();
}

bool HasEffects(const FunctionBody& body) {
  if (!body.control_rets.empty()) return true;
  for (const auto& node : body.graph->nodes()) {
    if (node != nullptr && !IsArgOrRetval(*node) && node->IsStateful()) return true;
  }
  return false;
}

std::string MergedDevice(absl::string_view own, absl::string_view around) {
  StatusOr<DeviceName> device = DeviceName::Parse(own);
  const StatusOr<DeviceName> rest = DeviceName::Parse(around);
  if (!device.ok() || !rest.ok()) return std::string(own);  // placement says what is wrong
  device->FillFrom(*rest);
  return device->ToString();
}

// Where a node of a body runs whose call is on `device`: there, or on the CPU beside it if there is no kernel.
std::string DeviceWithKernel(const Node& node, absl::string_view device) {
  StatusOr<DeviceName> name = DeviceName::Parse(device);
  const bool has_kernel = !name.ok() || !name->type || *name->type == "CPU" ||
                          FindKernel(node.op(), *name->type, node.attrs(), node.name()).ok();
  if (has_kernel) return std::string(device);
  name->type = "CPU";
  name->index = 0;
  return name->ToString();
}

}  // namespace

std::optional<FunctionBody> FindBodyToCopy(const FunctionLibrary& library, const NameAttrList& function,
                                           const std::vector<DType>& arg_types, const std::vector<DType>& ret_types) {
  const std::shared_ptr<const Function> found = library.Find(function.name);
  if (found == nullptr || ForbidsInlining(*found)) return std::nullopt;
  StatusOr<FunctionBody> body = library.Instantiate(function);
  if (!body.ok() || body->arg_types != arg_types || body->ret_types != ret_types) return std::nullopt;
  bool effects = false, turns = false;
  for (const auto& node : body->graph->nodes()) {
    if (node == nullptr || IsArgOrRetval(*node)) continue;
    if (node->IsStateful() && !StateIsElsewhere(*node)) return std::nullopt;
    effects |= node->IsStateful();
    turns |= IsSwitch(*node) || IsEnter(*node);
  }
  if (effects && turns) return std::nullopt;
  return *std::move(body);
}

BodyCopy::BodyCopy(Graph* graph, BodyPlace place, const FunctionBody& body)
    : graph_(*graph),
      place_(std::move(place)),
      body_(body),
      strict_(place_.results_show_effects && HasEffects(body)),
      args_(static_cast<size_t>(body.graph->id_limit())),
      twins_(args_.size(), nullptr) {}

Status BodyCopy::Run(const std::vector<Output>& args) {
  RETURN_IF_ERROR(AddArgs(args));
  if (strict_ || !place_.control_inputs.empty() || (place_.branching && !waits_.empty())) RETURN_IF_ERROR(AddEntry());
  for (const auto& node : body_.graph->nodes()) {
    if (node != nullptr && !IsArgOrRetval(*node)) RETURN_IF_ERROR(Copy(*node));
  }
  for (const auto& node : body_.graph->nodes()) {
    if (node != nullptr && !IsArgOrRetval(*node)) Connect(*node, twins_[node->id()]);
  }
  return OkStatus();
}

Status BodyCopy::Finish(bool waited_for) {
  for (const Node* ret : body_.rets) results_.push_back(Map(ret->input(0)));
  if (waited_for || strict_) RETURN_IF_ERROR(AddExit());
  for (Output& result : results_) {
    const bool constant = entry_ != nullptr && IsFreeConstant(*result.node);
    if (!strict_ && !(place_.branching && constant)) continue;
    ASSIGN_OR_RETURN(result, Pass("result", result, {strict_ ? exit_ : entry_}));
  }
  return OkStatus();
}

Output BodyCopy::Map(const Output& from) const {
  if (IsA(*from.node, OpKind::kArg)) return args_[from.node->id()];
  return Output(twins_[from.node->id()], from.index);
}

StatusOr<Node*> BodyCopy::Add(absl::string_view name, const OpEntry& op, AttrMap attrs, std::vector<Output> inputs,
                              std::vector<Node*> control) {
  Graph::NodeSpec spec;
  spec.name = graph_.UniqueName(absl::StrCat(place_.name, "/", name));
  spec.op = &op;
  spec.attrs = std::move(attrs);
  spec.inputs = std::move(inputs);
  spec.control_inputs = std::move(control);
  spec.device = place_.device;
  ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
  node->set_assigned_device(place_.assigned_device);
  return node;
}

StatusOr<Output> BodyCopy::Pass(absl::string_view name, Output value, std::vector<Node*> control) {
  ASSIGN_OR_RETURN(const OpEntry* identity, OpRegistry::Global().Lookup("Identity"));
  AttrMap attrs;
  attrs.Set("T", value.dtype());
  ASSIGN_OR_RETURN(Node * node, Add(name, *identity, std::move(attrs), {value}, std::move(control)));
  return Output(node, 0);
}

StatusOr<Node*> BodyCopy::NoOp(absl::string_view name, std::vector<Node*> after) {
  ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup("NoOp"));
  std::unordered_set<Node*> seen;
  std::erase_if(after, [&](Node* node) { return !seen.insert(node).second; });
  return Add(name, *op, {}, {}, std::move(after));
}

// A reference is read once for the whole body; a value from a branch says by an Identity whether the branch was taken.
Status BodyCopy::AddArgs(const std::vector<Output>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    Output value = args[i];
    if (place_.branching || IsRef(value.node->output_type(value.index))) {
      ASSIGN_OR_RETURN(value, Pass("arg", value, place_.control_inputs));
    }
    args_[body_.args[i]->id()] = value;
    waits_.push_back(value.node);
  }
  return OkStatus();
}

Status BodyCopy::AddEntry() {
  std::vector<Node*> after = place_.control_inputs;
  if (strict_ || place_.branching) after.insert(after.end(), waits_.begin(), waits_.end());
  ASSIGN_OR_RETURN(entry_, NoOp("begin", std::move(after)));
  return OkStatus();
}

Status BodyCopy::AddExit() {
  std::vector<Node*> after;
  if (entry_ != nullptr) after.push_back(entry_);
  for (const Output& result : results_) after.push_back(result.node);
  for (const Node* node : body_.control_rets) after.push_back(twins_[node->id()]);
  for (Node* twin : twins_) {
    if (twin != nullptr && twin->IsStateful()) after.push_back(twin);
  }
  ASSIGN_OR_RETURN(exit_, NoOp("end", std::move(after)));
  return OkStatus();
}

Status BodyCopy::Copy(const Node& node) {
  Graph::NodeSpec spec;
  spec.name = graph_.UniqueName(absl::StrCat(place_.name, "/", node.name()));
  spec.op = &node.op();
  const std::string device = node.device().empty() ? "" : MergedDevice(node.device(), place_.device);
  spec.device = device.empty() ? place_.device : absl::string_view(device);
  for (const auto& [name, value] : node.attrs()) {
    if (name == "_class") continue;  // names nodes of the function
    const auto* frame = name == "frame_name" ? value.get<std::string>() : nullptr;
    spec.attrs.Set(name, frame == nullptr ? value : AttrValue(absl::StrCat(place_.name, "/", *frame)));
  }
  spec.attrs.Set(kInlinedAttr, true);
  ASSIGN_OR_RETURN(Node * twin, graph_.AddNode(std::move(spec), /*check_inputs=*/false));
  twin->set_assigned_device(DeviceWithKernel(*twin, place_.assigned_device));
  twins_[node.id()] = twin;
  return OkStatus();
}

void BodyCopy::Connect(const Node& from, Node* to) {
  std::vector<Output> inputs;
  std::vector<Node*> control;
  bool first = !IsFreeConstant(from);  // nothing in the body comes before it
  for (const Output& in : from.inputs()) {
    inputs.push_back(Map(in));
    first &= IsA(*in.node, OpKind::kArg) || IsFreeConstant(*in.node);
  }
  for (const Node* in : from.control_inputs()) {
    if (IsArgOrRetval(*in)) continue;
    control.push_back(twins_[in->id()]);
    first &= IsFreeConstant(*in);
  }
  if (first && entry_ != nullptr) control.push_back(entry_);
  graph_.SetInputs(to, std::move(inputs));
  graph_.SetControlInputs(to, std::move(control));
}

}  // namespace millstream
