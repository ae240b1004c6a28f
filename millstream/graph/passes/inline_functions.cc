// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <unordered_set>

#include "millstream/framework/device_name.h"
#include "millstream/graph/function_library.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/passes/replacement.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

constexpr int kMaxDepth = 16;                // a function may call itself
constexpr int kMaxNodesAdded = 1 << 17;      // functions that call others twice grow fast
constexpr char kInlinedAttr[] = "_inlined";  // see KernelCache

bool IsCall(const Node& node) { return node.Is("PartitionedCall") || node.Is("StatefulPartitionedCall"); }
bool IsMark(const Node& node) { return node.Is("_Arg") || node.Is("_Retval"); }
bool IsPlainConst(const Node& node) { return node.Is("Const") && node.control_inputs().empty(); }

// True if the node's own kernel holds no state: calls of one function share the kernels of its body (a random
// generator, an iterator), and must go on sharing them.
bool StateIsElsewhere(const Node& node) {
  for (const char* type : {"Assert", "Print", "PrintV2", "If", "While", "Case", "StatefulPartitionedCall"}) {
    if (node.Is(type)) return true;
  }
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

bool FitsDevice(const Node& node, const DeviceName& device) {
  if (node.device().empty()) return true;
  const StatusOr<DeviceName> wanted = DeviceName::Parse(node.device());
  return wanted.ok() && wanted->Matches(device);
}

bool HasTypes(const std::vector<DType>& types, const Node& call) {
  if (types.size() != call.inputs().size()) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (call.input(static_cast<int>(i)).dtype() != types[i]) return false;
  }
  return true;
}

// The body of one call, put into the graph around the call. `strict`: begins when all arguments are there, and whoever
// uses a result sees all effects, as with a call. `branching`: the call may lie on a branch not taken or in a loop, so
// every node of the body must get to know.
class BodyCopy {
 public:
  BodyCopy(Graph* graph, const Node* call, const FunctionBody& body, bool strict, bool branching)
      : graph_(*graph),
        call_(*call),
        body_(body),
        strict_(strict),
        branching_(branching),
        args_(static_cast<size_t>(body.graph->id_limit())),
        twins_(args_.size(), nullptr) {}

  Status Run(const std::vector<Output>& args) {
    RETURN_IF_ERROR(AddArgs(args));
    if (strict_ || !call_.control_inputs().empty() || (branching_ && !waits_.empty())) RETURN_IF_ERROR(AddEntry());
    for (const auto& node : body_.graph->nodes()) {
      if (node != nullptr && !IsMark(*node)) RETURN_IF_ERROR(Copy(*node));
    }
    for (const auto& node : body_.graph->nodes()) {
      if (node != nullptr && !IsMark(*node)) Connect(*node, twins_[node->id()]);
    }
    return OkStatus();
  }

  // What stands for the results; Finish() comes first.
  const std::vector<Output>& results() const { return results_; }
  // Runs after everything in the body; null if nobody needs it.
  Node* exit() const { return exit_; }
  Node* entry() const { return entry_; }
  // The copies of the body's nodes, by id; null where there is none.
  const std::vector<Node*>& twins() const { return twins_; }

  Status Finish(bool waited_for) {
    for (const Node* ret : body_.rets) results_.push_back(Map(ret->input(0)));
    if (waited_for || strict_) RETURN_IF_ERROR(AddExit());
    for (Output& result : results_) {
      const bool constant = entry_ != nullptr && IsPlainConst(*result.node);
      if (!strict_ && !(branching_ && constant)) continue;
      ASSIGN_OR_RETURN(result, Pass("result", result, {strict_ ? exit_ : entry_}));
    }
    return OkStatus();
  }

 private:
  Output Map(const Output& from) const {
    if (from.node->Is("_Arg")) return args_[from.node->id()];
    return Output(twins_[from.node->id()], from.index);
  }

  StatusOr<Node*> Add(absl::string_view name, const OpEntry& op, AttrMap attrs, bool check_inputs,
                      std::vector<Output> inputs = {}, std::vector<Node*> control = {}) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(call_.name(), "/", name));
    spec.op = &op;
    spec.attrs = std::move(attrs);
    spec.inputs = std::move(inputs);
    spec.control_inputs = std::move(control);
    spec.device = call_.device();
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec), check_inputs));
    node->set_assigned_device(call_.assigned_device());
    return node;
  }

  StatusOr<Output> Pass(absl::string_view name, Output value, std::vector<Node*> control) {
    ASSIGN_OR_RETURN(const OpEntry* identity, OpRegistry::Global().Lookup("Identity"));
    AttrMap attrs;
    attrs.Set("T", value.dtype());
    ASSIGN_OR_RETURN(Node * node, Add(name, *identity, std::move(attrs), true, {value}, std::move(control)));
    return Output(node, 0);
  }

  StatusOr<Node*> NoOp(absl::string_view name, std::vector<Node*> after) {
    ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup("NoOp"));
    std::unordered_set<Node*> seen;
    std::erase_if(after, [&](Node* node) { return !seen.insert(node).second; });
    return Add(name, *op, {}, true, {}, std::move(after));
  }

  // A reference is read once for the whole body; a value from a branch says by an Identity whether the branch was
  // taken.
  Status AddArgs(const std::vector<Output>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      Output value = args[i];
      if (branching_ || IsRef(value.node->output_type(value.index))) {
        ASSIGN_OR_RETURN(value, Pass("arg", value, call_.control_inputs()));
      }
      args_[body_.args[i]->id()] = value;
      waits_.push_back(value.node);
    }
    return OkStatus();
  }

  Status AddEntry() {
    std::vector<Node*> after = call_.control_inputs();
    if (strict_ || branching_) after.insert(after.end(), waits_.begin(), waits_.end());
    ASSIGN_OR_RETURN(entry_, NoOp("begin", std::move(after)));
    return OkStatus();
  }

  Status AddExit() {
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

  Status Copy(const Node& node) {
    AttrMap attrs;
    for (const auto& [name, value] : node.attrs()) {
      if (name == "_class") continue;  // names nodes of the function
      const auto* frame = name == "frame_name" ? value.get<std::string>() : nullptr;
      attrs.Set(name, frame == nullptr ? value : AttrValue(absl::StrCat(call_.name(), "/", *frame)));
    }
    attrs.Set(kInlinedAttr, true);
    ASSIGN_OR_RETURN(twins_[node.id()], Add(node.name(), node.op(), std::move(attrs), /*check_inputs=*/false));
    return OkStatus();
  }

  void Connect(const Node& from, Node* to) {
    std::vector<Output> inputs;
    std::vector<Node*> control;
    bool first = !IsPlainConst(from);  // nothing in the body comes before it
    for (const Output& in : from.inputs()) {
      inputs.push_back(Map(in));
      first &= in.node->Is("_Arg") || IsPlainConst(*in.node);
    }
    for (const Node* in : from.control_inputs()) {
      if (IsMark(*in)) continue;
      control.push_back(twins_[in->id()]);
      first &= IsPlainConst(*in);
    }
    if (first && entry_ != nullptr) control.push_back(entry_);
    graph_.SetInputs(to, std::move(inputs));
    graph_.SetControlInputs(to, std::move(control));
  }

  Graph& graph_;
  const Node& call_;
  const FunctionBody& body_;
  const bool strict_;
  const bool branching_;
  Node* entry_ = nullptr;
  Node* exit_ = nullptr;
  std::vector<Node*> waits_;
  std::vector<Output> args_;  // by id in the body
  std::vector<Node*> twins_;
  std::vector<Output> results_;
};

class FunctionInliner {
 public:
  explicit FunctionInliner(PrunedGraph* part) : part_(*part), graph_(*part->graph) {}

  Status Run() {
    Note(graph_.nodes());
    if (calls_.empty() || graph_.library() == nullptr) return OkStatus();
    const int limit = graph_.num_nodes() + kMaxNodesAdded;
    while (!calls_.empty()) {
      const Call call = calls_.back();
      calls_.pop_back();
      const std::optional<FunctionBody> body = BodyOf(*call.node);
      if (body && graph_.num_nodes() + body->graph->num_nodes() < limit) RETURN_IF_ERROR(Inline(call, *body));
    }
    replaced_.Apply(&part_);
    for (Node*& target : part_.targets) target = replaced_.ResolveWait(target);
    for (Node* node : inlined_) graph_.RemoveNode(node);
    return OkStatus();
  }

 private:
  struct Call {
    Node* node;
    int depth;
  };

  void Note(const std::vector<std::unique_ptr<Node>>& nodes) {
    for (const auto& node : nodes)
      if (node != nullptr) Note(node.get(), 0);
    for (Node* node : part_.targets) waited_for_.insert(node);
  }

  void Note(Node* node, int depth) {
    branching_ |= node->IsControlFlow();
    NoteWaits(*node);
    if (IsCall(*node) && depth < kMaxDepth) calls_.push_back({node, depth});
  }

  void NoteWaits(const Node& node) {
    for (const Node* in : node.control_inputs()) waited_for_.insert(in);
  }

  // Nothing if the call should stay. Whatever is wrong with the function is reported when it is called.
  std::optional<FunctionBody> BodyOf(const Node& call) const {
    NameAttrList name;
    if (!call.GetAttr("f", &name).ok()) return std::nullopt;
    const std::shared_ptr<const Function> function = graph_.library()->Find(name.name);
    if (function == nullptr || ForbidsInlining(*function)) return std::nullopt;
    StatusOr<FunctionBody> body = graph_.library()->Instantiate(name);
    if (!body.ok() || !HasTypes(body->arg_types, call) || body->ret_types != call.output_types()) return std::nullopt;
    const StatusOr<DeviceName> device = DeviceName::Parse(call.assigned_device());
    if (!device.ok()) return std::nullopt;
    for (const auto& node : body->graph->nodes()) {
      if (node == nullptr || IsMark(*node)) continue;
      if (node->IsStateful() && !StateIsElsewhere(*node)) return std::nullopt;
      if (!FitsDevice(*node, *device)) return std::nullopt;
    }
    return *std::move(body);
  }

  Status Inline(const Call& call, const FunctionBody& body) {
    bool strict = !body.control_rets.empty();
    for (const auto& node : body.graph->nodes()) {
      if (node != nullptr && !IsMark(*node)) strict |= node->IsStateful();
    }
    BodyCopy copy(&graph_, call.node, body, strict, branching_);
    std::vector<Output> args = call.node->inputs();
    for (Output& arg : args) arg = replaced_.Resolve(arg);
    RETURN_IF_ERROR(copy.Run(args));
    RETURN_IF_ERROR(copy.Finish(waited_for_.contains(call.node)));
    for (Node* twin : copy.twins())
      if (twin != nullptr) Note(twin, call.depth + 1);
    for (const Node* around : {copy.entry(), copy.exit()})
      if (around != nullptr) NoteWaits(*around);
    for (int i = 0; i < call.node->num_outputs(); ++i) replaced_.Replace(Output(call.node, i), copy.results()[i]);
    replaced_.Drop(call.node, copy.exit());
    inlined_.push_back(call.node);
    return OkStatus();
  }

  PrunedGraph& part_;
  Graph& graph_;
  bool branching_ = false;
  std::vector<Call> calls_;
  std::unordered_set<const Node*> waited_for_;
  std::vector<Node*> inlined_;
  Replacements replaced_;
};

}  // namespace

Status InlineFunctions(PrunedGraph* part) { return FunctionInliner(part).Run(); }

}  // namespace millstream
