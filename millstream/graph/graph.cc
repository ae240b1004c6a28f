// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/graph.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "millstream/graph/node_kind.h"

namespace millstream {

// Keys point into the nodes' own names.
struct Graph::NameIndex {
  absl::flat_hash_map<absl::string_view, Node*> nodes;
};

namespace {

bool CallsBranches(const Node& node) {
  return IsA(node, OpKind::kIf) || IsA(node, OpKind::kCase) || IsA(node, OpKind::kWhile);
}

std::string ShowTypes(const std::vector<DType>& types) {
  constexpr size_t kMost = 32;
  const auto end = types.begin() + static_cast<ptrdiff_t>(std::min(types.size(), kMost));
  return absl::StrJoin(types.begin(), end, ", ", [](std::string* out, DType t) { out->append(DTypeName(t)); }) +
         (types.size() > kMost ? ", ..." : "");
}

}  // namespace

std::string Output::name() const { return absl::StrCat(node->name(), ":", index); }

StatusOr<std::vector<DType>> Node::InputTypes() const {
  std::vector<DType> types;
  RETURN_IF_ERROR(ArgTypes(op_->def.inputs, attrs_, &types));
  return types;
}

bool IsValidNodeName(absl::string_view name) {
  if (name.empty()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool first = absl::ascii_isalnum(c) || c == '.' || c == '_';  // '_' first: nodes made by runtimes
    if (!(first || (i > 0 && (c == '-' || c == '/' || c == '>' || c == '\\')))) return false;
  }
  return true;
}

Graph::Graph(std::shared_ptr<FunctionLibrary> library)
    : names_(std::make_unique<NameIndex>()), library_(std::move(library)) {}
Graph::~Graph() = default;

StatusOr<Node*> Graph::AddNode(NodeSpec spec, bool check_inputs) {
  if (!IsValidNodeName(spec.name)) {
    return errors::InvalidArgument("Illegal op name '", spec.name, "'\n\t [[{{node ", spec.name, "}}]]");
  }
  if (names_->nodes.contains(spec.name)) return errors::InvalidArgument("Node '", spec.name, "' is not unique");
  const auto in_node = [&](const Status& s) {
    return Status(s.code(), absl::StrCat(s.message(), "\n\t [[{{node ", spec.name, "}}]]"));
  };
  if (Status s = CompleteAttrs(spec.op->def, &spec.attrs); !s.ok()) return in_node(s);
  auto node = std::make_unique<Node>();
  if (Status s = ArgTypes(spec.op->def.outputs, spec.attrs, &node->output_types_); !s.ok()) return in_node(s);
  node->id_ = static_cast<int>(nodes_.size());
  node->op_ = spec.op;
  node->name_ = std::move(spec.name);
  node->attrs_ = std::move(spec.attrs);
  node->inputs_ = std::move(spec.inputs);
  node->control_inputs_ = std::move(spec.control_inputs);
  node->device_ = Intern(spec.device);
  node->control_flow_ = IsControlFlow(KindOf(*node));
  if (check_inputs) RETURN_IF_ERROR(CheckInputs(*node));
  Node* raw = node.get();
  names_->nodes.emplace(raw->name_, raw);
  nodes_.push_back(std::move(node));
  ++num_live_;
  return raw;
}

Status Graph::CheckInputs(const Node& node) const {
  StatusOr<std::vector<DType>> expected = node.InputTypes();
  if (!expected.ok())
    return Status(expected.status().code(),
                  absl::StrCat(expected.status().message(), "\n\t [[{{node ", node.name(), "}}]]"));
  if (expected->size() != node.inputs().size()) {
    return errors::InvalidArgument("NodeDef expected inputs '", ShowTypes(*expected), "' do not match ",
                                   node.inputs().size(), " inputs specified; Op<", node.op().def.Signature(),
                                   ">\n\t [[{{node ", node.name(), "}}]]");
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& from = node.input(i);
    if (from.node == nullptr) return errors::InvalidArgument("Node '", node.name(), "': input ", i, " is missing");
    if (from.index < 0 || from.index >= from.node->num_outputs()) {
      // Clients add outputs to functional control flow when gradients need them, which a session that has the node
      // already does not see.
      return errors::InvalidArgument(
          "Node '", node.name(), "': Connecting to invalid output ", from.index, " of source node ", from.node->name(),
          " which has ", from.node->num_outputs(), " outputs.",
          CallsBranches(*from.node) ? " Try using tf.compat.v1.experimental.output_all_intermediates(True)." : "");
    }
    const DType given = from.node->output_type(from.index);
    if (!TypesCompatible((*expected)[i], given)) {
      return errors::InvalidArgument("Input ", i, " of node ", node.name(), " was passed ", DTypeName(given), " from ",
                                     from.name(), " incompatible with expected ", DTypeName((*expected)[i]), ".");
    }
  }
  return OkStatus();
}

Node* Graph::AddCopy(const Node& of, std::vector<Output> inputs, std::vector<Node*> control_inputs) {
  auto node = std::make_unique<Node>(of);
  node->id_ = static_cast<int>(nodes_.size());
  node->inputs_ = std::move(inputs);
  node->control_inputs_ = std::move(control_inputs);
  Node* raw = node.get();
  names_->nodes.emplace(raw->name_, raw);
  nodes_.push_back(std::move(node));
  ++num_live_;
  return raw;
}

void Graph::AddControlInput(Node* node, Node* from) {
  auto& inputs = node->control_inputs_;
  if (std::find(inputs.begin(), inputs.end(), from) == inputs.end()) inputs.push_back(from);
}

void Graph::RemoveNode(Node* node) {
  names_->nodes.erase(node->name_);
  nodes_[node->id_].reset();
  --num_live_;
}

void Graph::RemoveNodesFrom(int first_id) {
  for (int id = first_id; id < id_limit(); ++id) {
    if (nodes_[id] == nullptr) continue;
    names_->nodes.erase(nodes_[id]->name_);
    --num_live_;
  }
  nodes_.resize(first_id);
}

void Graph::Compact() {
  std::erase_if(nodes_, [](const auto& n) { return n == nullptr; });
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->id_ = static_cast<int>(i);
}

Node* Graph::Find(absl::string_view name) const {
  auto it = names_->nodes.find(name);
  return it == names_->nodes.end() ? nullptr : it->second;
}

StatusOr<Output> Graph::FindOutput(absl::string_view name) const {
  absl::string_view node_name = name;
  int index = 0;
  const size_t colon = name.rfind(':');
  if (colon != absl::string_view::npos) {
    node_name = name.substr(0, colon);
    if (!absl::SimpleAtoi(name.substr(colon + 1), &index) || index < 0) {
      return errors::InvalidArgument("'", name, "' is not the name of a tensor");
    }
  }
  Node* node = Find(node_name);
  if (node == nullptr) return errors::NotFound("Node '", node_name, "' is not in the graph");
  if (index >= node->num_outputs()) {
    return errors::InvalidArgument("'", name, "': the node has ", node->num_outputs(), " outputs");
  }
  return Output(node, index);
}

std::string Graph::UniqueName(absl::string_view prefix) {
  std::string name(prefix);
  int& counter = unique_counters_[name];
  while (names_->nodes.contains(name)) name = absl::StrCat(prefix, "_", ++counter);
  return name;
}

std::vector<std::vector<Graph::Consumer>> Graph::Consumers() const {
  std::vector<std::vector<Consumer>> out(nodes_.size());
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output& from = node->input(i);
      if (from.node != nullptr) out[from.node->id()].push_back({node.get(), i, from.index});
    }
    for (Node* from : node->control_inputs()) out[from->id()].push_back({node.get(), -1, -1});
  }
  return out;
}

StatusOr<std::vector<Node*>> Graph::TopologicalOrder() const {
  std::vector<int> pending(nodes_.size(), 0);
  // Fan-out in one flat array: offsets by id.
  std::vector<int> offset(nodes_.size() + 1, 0);
  const auto for_edges = [&](auto&& fn) {
    for (const auto& node : nodes_) {
      if (node == nullptr) continue;
      const bool merge = IsMerge(*node);
      for (const Output& in : node->inputs()) {
        if (in.node != nullptr && !(merge && IsNextIteration(*in.node))) fn(in.node->id(), node->id());
      }
      for (Node* in : node->control_inputs()) fn(in->id(), node->id());
    }
  };
  for_edges([&](int from, int to) {
    ++offset[from + 1];
    ++pending[to];
  });
  for (size_t i = 0; i < nodes_.size(); ++i) offset[i + 1] += offset[i];
  std::vector<int> targets(offset.back()), fill(offset.begin(), offset.end() - 1);
  for_edges([&](int from, int to) { targets[fill[from]++] = to; });

  std::vector<Node*> order;
  order.reserve(num_live_);
  for (const auto& node : nodes_) {
    if (node != nullptr && pending[node->id()] == 0) order.push_back(node.get());
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const int id = order[i]->id();
    for (int e = offset[id]; e < offset[id + 1]; ++e) {
      if (--pending[targets[e]] == 0) order.push_back(nodes_[targets[e]].get());
    }
  }
  if (static_cast<int>(order.size()) != num_live_) {
    std::string first;
    for (const auto& node : nodes_) {
      if (node != nullptr && pending[node->id()] > 0) {
        first = node->name();
        break;
      }
    }
    return errors::InvalidArgument(num_live_ - static_cast<int>(order.size()), " nodes in a cycle\n\t [[{{node ", first,
                                   "}}]]");
  }
  return order;
}

std::unique_ptr<Graph> Graph::Clone(std::vector<Node*>* map) const {
  auto copy = std::make_unique<Graph>(library_);
  copy->producer_ = producer_;
  std::vector<Node*> local;
  std::vector<Node*>& to = map != nullptr ? *map : local;
  to.assign(nodes_.size(), nullptr);
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    auto twin = std::make_unique<Node>(*node);
    twin->id_ = static_cast<int>(copy->nodes_.size());
    to[node->id()] = twin.get();
    copy->names_->nodes.emplace(twin->name_, twin.get());
    copy->nodes_.push_back(std::move(twin));
  }
  copy->num_live_ = num_live_;
  for (const auto& node : copy->nodes_) {
    for (Output& in : node->inputs_)
      if (in.node != nullptr) in.node = to[in.node->id()];
    for (Node*& in : node->control_inputs_) in = to[in->id()];
  }
  return copy;
}

}  // namespace millstream
