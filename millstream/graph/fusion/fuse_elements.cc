// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/fuse_elements.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "millstream/framework/element_ops.h"
#include "millstream/graph/fusion/element_groups.h"
#include "millstream/graph/fusion/fused_body.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

constexpr int kMaxPlaces = 64;  // arguments and results of one node

enum class Mode { kOff, kOn, kSingleOps };

// For tests and for finding out what fusion does: 0 leaves it out, 1 also makes groups of one op.
Mode FusionMode() {
  const char* const text = std::getenv("MILLSTREAM_FUSE_ELEMENTS");
  if (text == nullptr || *text == '\0') return Mode::kOn;
  return *text == '0' ? Mode::kOff : Mode::kSingleOps;
}

// Makes the body of one group.
class BodyBuilder {
 public:
  explicit BodyBuilder(const std::vector<Node*>& group) : group_(group.begin(), group.end()) {
    body_.graph = std::make_unique<Graph>();
  }

  // A member of the group; those it reads come first.
  Status Add(const Node& node) {
    std::vector<Output> inputs;
    const bool is_concat = FindElementOp(node.type())->role == ElementRole::kConcat;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const bool is_axis = is_concat && i + 1 == node.num_inputs();
      ASSIGN_OR_RETURN(const Output in, is_axis ? ImportConstant(node.input(i)) : Import(node.input(i)));
      inputs.push_back(in);
    }
    ASSIGN_OR_RETURN(Node * copy, AddNode(node, MemberName(node), std::move(inputs)));
    copies_[&node] = copy;
    (is_concat ? moves_ : formulas_) += 1;
    return OkStatus();
  }
  void AddResult(const Output& of) { body_.results.emplace_back(copies_.at(of.node), of.index); }

  const FusedBody& body() const { return body_; }
  const std::vector<Output>& args() const { return args_; }  // what the fused node reads
  int formulas() const { return formulas_; }
  int moves() const { return moves_; }  // splits, slices and concats

 private:
  StatusOr<Output> Import(const Output& from) {
    if (group_.contains(from.node)) return Output(copies_.at(from.node), from.index);
    if (IsPart(*from.node)) return ImportPart(from);
    return ImportArg(from);
  }

  // Results of splits and slices are read where they are.
  bool IsPart(const Node& node) const {
    const ElementOp* const op = FindElementOp(node.type());
    if (op == nullptr || (op->role != ElementRole::kSplit && op->role != ElementRole::kSlice)) return false;
    return IsPure(node) && node.control_inputs().empty() && HasConstantPlaces(node, op->role) &&
           node.assigned_device() == (*group_.begin())->assigned_device() && FusingDevices().CanRun(node);
  }

  StatusOr<Output> ImportPart(const Output& from) {
    if (const auto it = copies_.find(from.node); it != copies_.end()) return Output(it->second, from.index);
    std::vector<Output> inputs;
    for (const Output& in : from.node->inputs()) {
      const bool is_place = !IsFusedType(in.dtype());
      ASSIGN_OR_RETURN(const Output imported, is_place ? ImportConstant(in) : ImportArg(in));
      inputs.push_back(imported);
    }
    ASSIGN_OR_RETURN(Node * copy, AddNode(*from.node, MemberName(*from.node), std::move(inputs)));
    copies_[from.node] = copy;
    ++moves_;
    return Output(copy, from.index);
  }

  StatusOr<Output> ImportConstant(const Output& from) {
    Node*& copy = constants_[from.node];
    if (copy == nullptr) {
      ASSIGN_OR_RETURN(copy, AddNode(*from.node, MemberName(*from.node), {}));
    }
    return Output(copy);
  }

  StatusOr<Output> ImportArg(const Output& from) {
    const auto [known, is_new] = arg_numbers_.try_emplace(from, static_cast<int>(args_.size()));
    if (is_new) {
      Graph::NodeSpec spec;
      spec.name = absl::StrCat("a", args_.size());
      ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup("Placeholder"));
      spec.attrs.Set("dtype", from.dtype());
      ASSIGN_OR_RETURN(Node * arg, body_.graph->AddNode(std::move(spec)));
      body_.args.push_back(arg);
      args_.push_back(from);
    }
    return Output(body_.args[static_cast<size_t>(known->second)]);
  }

  StatusOr<Node*> AddNode(const Node& of, std::string name, std::vector<Output> inputs) {
    Graph::NodeSpec spec;
    spec.name = std::move(name);
    spec.op = &of.op();
    for (const auto& [attr, value] : of.attrs()) {
      if (attr[0] != '_') spec.attrs.Set(attr, value);  // colocations and the like mean nothing in a body
    }
    spec.inputs = std::move(inputs);
    ASSIGN_OR_RETURN(Node * node, body_.graph->AddNode(std::move(spec)));
    body_.members.push_back(node);
    return node;
  }

  const absl::flat_hash_set<const Node*> group_;
  FusedBody body_;
  std::vector<Output> args_;
  std::unordered_map<Output, int, OutputHash> arg_numbers_;
  absl::flat_hash_map<const Node*, Node*> copies_, constants_;
  int formulas_ = 0, moves_ = 0;
};

class ElementFusion {
 public:
  ElementFusion(PrunedGraph* part, Mode mode) : part_(part), graph_(*part->graph), mode_(mode) {}

  Status Run() {
    ASSIGN_OR_RETURN(const std::vector<ElementGroups::Group> groups,
                     ElementGroups(*part_).Find(mode_ == Mode::kSingleOps));
    if (groups.empty()) return OkStatus();
    consumers_ = graph_.Consumers();
    fetched_.resize(static_cast<size_t>(graph_.id_limit()), false);
    for (const Output& ret : part_->rets) fetched_[static_cast<size_t>(ret.node->id())] = true;
    for (const ElementGroups::Group& group : groups) RETURN_IF_ERROR(Fuse(group));
    replaced_.Apply(part_);
    return OkStatus();
  }

 private:
  bool IsWorthIt(const BodyBuilder& builder) const {
    const auto places = builder.args().size() + builder.body().results.size();
    if (places > kMaxPlaces) return false;
    return mode_ == Mode::kSingleOps || builder.formulas() > 1 || (builder.formulas() == 1 && builder.moves() > 0);
  }

  bool IsReadOutside(const Node& member, const absl::flat_hash_set<const Node*>& group) const {
    if (fetched_[static_cast<size_t>(member.id())]) return true;
    const auto& all = consumers_[static_cast<size_t>(member.id())];
    return std::any_of(all.begin(), all.end(),
                       [&](const Graph::Consumer& c) { return c.input >= 0 && !group.contains(c.node); });
  }

  Status Fuse(const ElementGroups::Group& group) {
    const absl::flat_hash_set<const Node*> inside(group.begin(), group.end());
    if (group.size() == 1 && mode_ != Mode::kSingleOps && !ReadsParts(*group[0])) return OkStatus();
    BodyBuilder builder(group);
    for (const Node* node : group) RETURN_IF_ERROR(builder.Add(*node));
    std::vector<Node*> results;
    for (Node* node : group) {
      if (!IsReadOutside(*node, inside)) continue;
      builder.AddResult(Output(node));
      results.push_back(node);
    }
    if (results.empty() || !IsWorthIt(builder)) return OkStatus();
    ASSIGN_OR_RETURN(Node * fused, AddFused(group, inside, &builder));
    for (size_t i = 0; i < results.size(); ++i)
      replaced_.Replace(Output(results[i]), Output(fused, static_cast<int>(i)));
    for (Node* node : group) replaced_.Drop(node, fused);
    return OkStatus();
  }

  static bool ReadsParts(const Node& node) {
    return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Output& in) {
      const ElementOp* const op = FindElementOp(in.node->type());
      return op != nullptr && (op->role == ElementRole::kSplit || op->role == ElementRole::kSlice);
    });
  }

  StatusOr<Node*> AddFused(const ElementGroups::Group& group, const absl::flat_hash_set<const Node*>& inside,
                           BodyBuilder* builder) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(group.back()->name(), "/fused_elements"));
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(kFusedElements));
    RETURN_IF_ERROR(WriteFusedBody(builder->body(), &spec.attrs));
    AttrValue::Strings names;
    for (const Node* node : group) names.push_back(node->name());
    spec.attrs.Set(kMembersAttr, std::move(names));
    spec.inputs = builder->args();
    for (const Node* node : group) {
      for (Node* in : node->control_inputs()) {
        const bool known =
            std::find(spec.control_inputs.begin(), spec.control_inputs.end(), in) != spec.control_inputs.end();
        if (!known && !inside.contains(in)) spec.control_inputs.push_back(in);
      }
    }
    spec.device = group.back()->device();
    ASSIGN_OR_RETURN(Node * fused, graph_.AddNode(std::move(spec)));
    fused->set_assigned_device(group.back()->assigned_device());
    return fused;
  }

  PrunedGraph* const part_;
  Graph& graph_;
  const Mode mode_;
  std::vector<std::vector<Graph::Consumer>> consumers_;
  std::vector<bool> fetched_;  // by id
  Replacements replaced_;
};

}  // namespace

Status FuseElements(PrunedGraph* part) {
  const Mode mode = FusionMode();
  return mode == Mode::kOff ? OkStatus() : ElementFusion(part, mode).Run();
}

}  // namespace millstream
