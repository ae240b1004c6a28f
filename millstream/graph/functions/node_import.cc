// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/functions/node_import.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "millstream/framework/intern.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/reserved_attrs.h"
#include "millstream/proto/node_def.pb.h"

namespace millstream {
namespace {

// What later stages keep for each output of a node (shapes, plans). A few bytes of program can ask for a million
// outputs.
constexpr int64_t kBytesPerOutput = 64;
constexpr size_t kMaxMessage = 2048;

Status CheckNotRef(const AttrDef& def, DType type) {
  if (!IsRef(type)) return OkStatus();
  return errors::InvalidArgument("AttrValue must not have reference type value of ", DTypeName(type), " for attr '",
                                 def.name, "'");
}

// TensorFlow's checks on declared attributes that do not depend on the definition of the attribute.
Status CheckDeclared(const OpDef& op, const AttrMap& attrs) {
  for (const AttrDef& def : op.attrs) {
    const AttrValue* value = attrs.Find(def.name);
    if (value == nullptr) continue;
    if (value->empty()) {
      return errors::InvalidArgument("AttrValue missing value with expected type '", def.type, "' for attr '", def.name,
                                     "'");
    }
    if (const DType* type = value->get<DType>()) RETURN_IF_ERROR(CheckNotRef(def, *type));
    if (const auto* types = value->get<AttrValue::DTypes>()) {
      for (const DType type : *types) RETURN_IF_ERROR(CheckNotRef(def, type));
    }
  }
  return OkStatus();
}

// What executors believe must not come from a program.
Status CheckNotReserved(const OpEntry& op, const AttrMap& attrs) {
  if (KindOf(op.traits) == OpKind::kCopyToDevice || KindOf(op.traits) == OpKind::kCopyToHost)
    return errors::InvalidArgument("Op '", op.def.name, "' cannot be used in a program");
  for (const char* const name : kReservedAttrs) {
    if (attrs.Has(name)) return errors::InvalidArgument("Attr '", name, "' cannot be used in a program");
  }
  return OkStatus();
}

}  // namespace

Status InNode(const Status& status, absl::string_view node_name) {
  std::string message(status.message().substr(0, kMaxMessage));
  if (!absl::StrContains(message, "[[{{node"))
    absl::StrAppend(&message, "\n\t [[{{node ", node_name.substr(0, kMaxMessage), "}}]]");
  return Status(status.code(), message);
}

NodeImporter::NodeImporter(const ImportOptions& options, Graph* graph, const FunctionLibrary* library)
    : options_(options),
      graph_(graph),
      library_(library),
      first_id_(graph->id_limit()),
      budget_(options.max_graph_bytes) {}

Status NodeImporter::AddAttrs(const proto::NodeDef& def, const AttrMap* bindings, AttrMap* attrs) {
  static const AttrMap kNoBindings;
  const TensorDecodeOptions decode{.max_bytes = options_.max_tensor_bytes, .budget = &budget_};
  attrs->reserve(def.attr().size());
  for (const auto& [name, from] : def.attr()) {
    RETURN_IF_ERROR(CheckMayIntern(name));
    StatusOr<AttrValue> value = AttrFromProto(from, decode);
    if (value.ok()) value = BindPlaceholders(*value, bindings == nullptr ? kNoBindings : *bindings);
    if (!value.ok()) {
      return Status(value.status().code(), absl::StrCat(value.status().message(), "\n\t for attr '", name, "'"));
    }
    attrs->Set(name, *std::move(value));
  }
  return OkStatus();
}

Status NodeImporter::MakeCall(std::shared_ptr<const Function> function, Graph::NodeSpec* spec, Call* call) const {
  const OpDef& signature = function->signature;
  RETURN_IF_ERROR(CompleteAttrs(signature, &spec->attrs, /*keep_unknown=*/true));
  AttrValue::DTypes in, out;
  RETURN_IF_ERROR(ArgTypes(signature.inputs, spec->attrs, &in));
  RETURN_IF_ERROR(ArgTypes(signature.outputs, spec->attrs, &out));
  ASSIGN_OR_RETURN(spec->op,
                   OpRegistry::Global().Lookup(signature.stateful ? "StatefulPartitionedCall" : "PartitionedCall"));
  NameAttrList target{.name = signature.name, .attrs = {}};
  AttrMap attrs;
  for (const auto& [name, value] : spec->attrs) {
    if (absl::StartsWith(name, "_"))
      attrs.Set(name, value);
    else
      target.attrs.emplace_back(std::string(name), value);
  }
  attrs.Set("f", std::move(target));
  attrs.Set("Tin", std::move(in));
  attrs.Set("Tout", std::move(out));
  call->function = std::move(function);
  call->attrs = std::exchange(spec->attrs, std::move(attrs));
  return OkStatus();
}

Status NodeImporter::CheckNode(const Node& node) {
  budget_ -= kBytesPerOutput * node.num_outputs();
  if (budget_ < 0) {
    return errors::ResourceExhausted("The graph would take more than ", options_.max_graph_bytes, " bytes");
  }
  if (!IsA(node, OpKind::kConst)) return OkStatus();
  DType type = DType::kInvalid;
  Tensor value;
  RETURN_IF_ERROR(node.GetAttr("dtype", &type));
  RETURN_IF_ERROR(node.GetAttr("value", &value));
  if (value.dtype() == type) return OkStatus();
  return errors::InvalidArgument("Const: attr 'dtype' is ", DTypeName(type), " but attr 'value' holds ",
                                 DTypeName(value.dtype()));
}

StatusOr<Node*> NodeImporter::Add(const proto::NodeDef& def, const AttrMap* bindings) {
  Graph::NodeSpec spec;
  spec.op = OpRegistry::Global().Find(def.op());
  // Made from signatures alone: two nodes that take one argument would race.
  if (spec.op != nullptr && IsArgOrRetval(spec.op->traits)) {
    return InNode(errors::InvalidArgument("Op '", def.op(), "' cannot be used in a program"), def.name());
  }
  spec.name = def.name();
  spec.device = def.device();
  if (Status s = CheckMayIntern(spec.device); !s.ok()) return InNode(s, def.name());
  if (Status s = AddAttrs(def, bindings, &spec.attrs); !s.ok()) return InNode(s, def.name());
  Call call;
  if (spec.op == nullptr) {
    std::shared_ptr<const Function> function = library_ == nullptr ? nullptr : library_->Find(def.op());
    const Status s = function == nullptr ? OpRegistry::Global().Lookup(def.op().substr(0, kMaxMessage)).status()
                                         : MakeCall(std::move(function), &spec, &call);
    if (!s.ok()) return InNode(s, def.name());
  }
  if (Status s = CheckDeclared(spec.op->def, spec.attrs); !s.ok()) return InNode(s, def.name());
  if (!options_.is_part) {
    if (Status s = CheckNotReserved(*spec.op, spec.attrs); !s.ok()) return InNode(s, def.name());
  }
  StatusOr<Node*> node = graph_->AddNode(std::move(spec), /*check_inputs=*/false);
  if (!node.ok()) return InNode(node.status(), def.name());
  if (Status s = CheckNode(**node); !s.ok()) return InNode(s, def.name());
  if (call.function != nullptr) calls_.emplace((*node)->id(), std::move(call));
  return node;
}

Status NodeImporter::Connect(Node* node, const proto::NodeDef& def, Resolve resolve) {
  const auto unknown = [&](const std::string& input) {
    return InNode(
        errors::InvalidArgument("Node '", def.name(), "': Unknown input node '", input.substr(0, kMaxMessage), "'"),
        def.name());
  };
  std::vector<Output> inputs;
  std::vector<Node*> control;
  absl::flat_hash_set<const Node*> seen;  // one node may wait for all others: no search in the list
  for (const std::string& input : def.input()) {
    if (absl::StartsWith(input, "^")) {
      Node* from = graph_->Find(absl::string_view(input).substr(1));
      if (from == nullptr) return unknown(input);
      if (seen.insert(from).second) control.push_back(from);
      continue;
    }
    if (!control.empty()) {
      return InNode(
          errors::InvalidArgument("Node '", def.name(), "': Control dependencies must come after regular dependencies"),
          def.name());
    }
    if (!resolve(input, &inputs)) return unknown(input);
  }
  inputs.shrink_to_fit();
  graph_->SetInputs(node, std::move(inputs));
  graph_->SetControlInputs(node, std::move(control));
  if (Status s = graph_->CheckInputs(*node); !s.ok()) return InNode(s, def.name());
  return OkStatus();
}

// Nodes that were there before cannot use new ones, so a cycle has new nodes only.
Status NodeImporter::CheckAcyclic() const {
  const auto& nodes = graph_->nodes();
  const int count = graph_->id_limit() - first_id_;
  std::vector<int> pending(count, 0), offset(count + 1, 0);
  const auto for_edges = [&](auto&& fn) {
    for (int to = 0; to < count; ++to) {
      const Node& node = *nodes[first_id_ + to];
      for (const Output& in : node.inputs()) {
        if (in.node->id() >= first_id_ && !(IsMerge(node) && IsNextIteration(*in.node)))
          fn(in.node->id() - first_id_, to);
      }
      for (const Node* in : node.control_inputs()) {
        if (in->id() >= first_id_) fn(in->id() - first_id_, to);
      }
    }
  };
  for_edges([&](int from, int to) {
    ++offset[from + 1];
    ++pending[to];
  });
  for (int i = 0; i < count; ++i) offset[i + 1] += offset[i];
  std::vector<int> targets(offset.back()), fill(offset.begin(), offset.end() - 1), ready;
  for_edges([&](int from, int to) { targets[fill[from]++] = to; });
  for (int i = 0; i < count; ++i)
    if (pending[i] == 0) ready.push_back(i);
  for (size_t i = 0; i < ready.size(); ++i) {
    for (int e = offset[ready[i]]; e < offset[ready[i] + 1]; ++e) {
      if (--pending[targets[e]] == 0) ready.push_back(targets[e]);
    }
  }
  const auto left = static_cast<size_t>(count) - ready.size();
  if (left == 0) return OkStatus();
  const auto first = std::find_if(pending.begin(), pending.end(), [](int p) { return p > 0; }) - pending.begin();
  return InNode(errors::InvalidArgument(left, " nodes in a cycle"), nodes[first_id_ + first]->name());
}

Status NodeImporter::OutputRange(const Node& node, absl::string_view arg, int* begin, int* end) const {
  const auto call = calls_.find(node.id());
  if (call == calls_.end()) return ArgRange(node.op().def.outputs, node.attrs(), arg, begin, end);
  return ArgRange(call->second.function->signature.outputs, call->second.attrs, arg, begin, end);
}

}  // namespace millstream
