// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/passes/lower_control_flow.h"

#include <algorithm>
#include <optional>

#include "millstream/framework/device_name.h"
#include "millstream/graph/control_flow.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/body_copy.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

constexpr int kMaxDepth = 16;            // a branch may hold its own conditional
constexpr int kMaxNodesAdded = 1 << 17;  // functions that hold others twice grow fast

bool IsIf(const Node& node) { return IsA(node, OpKind::kIf); }
bool IsCase(const Node& node) { return IsA(node, OpKind::kCase); }
bool IsWhile(const Node& node) { return IsA(node, OpKind::kWhile); }

std::vector<DType> InputTypesFrom(const Node& node, size_t first) {
  std::vector<DType> types;
  for (size_t i = first; i < node.inputs().size(); ++i) types.push_back(node.inputs()[i].dtype());
  return types;
}

class ControlFlowLowering {
 public:
  explicit ControlFlowLowering(PrunedGraph* part) : part_(*part), graph_(*part->graph) {}

  StatusOr<bool> Run() {
    if (graph_.library() == nullptr) return false;
    limit_ = graph_.num_nodes() + kMaxNodesAdded;
    for (const auto& node : graph_.nodes()) Note(node.get(), 0, false);
    while (!waiting_.empty()) {
      const Item item = waiting_.back();
      waiting_.pop_back();
      node_ = item.node;
      depth_ = item.depth;
      in_loop_ = item.in_loop;
      RETURN_IF_ERROR(IsWhile(*node_) ? LowerLoop() : LowerBranches());
    }
    if (lowered_.empty()) return false;
    replaced_.Apply(&part_);
    for (Node*& target : part_.targets) target = replaced_.ResolveWait(target);
    for (Node* node : lowered_) graph_.RemoveNode(node);
    return true;
  }

 private:
  struct Item {
    Node* node;
    int depth;
    bool in_loop;  // that was lowered
  };

  void Note(Node* node, int depth, bool in_loop) {
    if (node != nullptr && depth < kMaxDepth && IsLoweredControlFlow(*node)) waiting_.push_back({node, depth, in_loop});
  }

  static absl::string_view PlaceOf(const Node& node) {
    return node.assigned_device().empty() ? node.device() : node.assigned_device();
  }

  // Where new nodes are: loops of functions are not cut between devices. "": they will be placed.
  absl::string_view AssignedDevice() const {
    return in_loop_ || IsWhile(*node_) ? absl::string_view(node_->assigned_device()) : absl::string_view();
  }

  // True if everything in `bodies` may be where the node is.
  bool StaysHere(const std::vector<FunctionBody>& bodies) const {
    for (const Output& in : node_->inputs()) {
      if (in.dtype() == DType::kResource && (depth_ > 0 || PlaceOf(*in.node) != PlaceOf(*node_))) return false;
    }
    const StatusOr<DeviceName> here = DeviceName::Parse(PlaceOf(*node_));
    for (const FunctionBody& body : bodies) {
      for (const auto& node : body.graph->nodes()) {
        if (node == nullptr || node->device().empty()) continue;
        const StatusOr<DeviceName> wanted = DeviceName::Parse(node->device());
        if (!wanted.ok() || !here.ok() || !wanted->Matches(*here)) return false;
      }
    }
    return true;
  }

  // What the new nodes that take constants wait for: a constant does not tell in which iteration of the loops around
  // the node they run.
  std::vector<Node*> Waits() const {
    std::vector<Node*> waits = node_->control_inputs();
    for (const Output& in : node_->inputs()) {
      Node* const from = replaced_.Resolve(in).node;
      if (!IsFreeConstant(*from) && std::find(waits.begin(), waits.end(), from) == waits.end()) waits.push_back(from);
    }
    return waits;
  }

  // A helper of the node that is being lowered.
  StatusOr<Node*> Add(absl::string_view type, absl::string_view name, std::vector<Output> inputs, AttrMap attrs = {},
                      std::vector<Node*> control = {}) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(node_->name(), "/", name));
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(type));
    spec.attrs = std::move(attrs);
    if (!inputs.empty() && !spec.attrs.Has("T") && spec.op->def.inputs[0].type_attr == "T")
      spec.attrs.Set("T", inputs[0].dtype());
    spec.inputs = std::move(inputs);
    spec.control_inputs = std::move(control);
    spec.device = node_->device();
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
    node->set_assigned_device(AssignedDevice());
    return node;
  }

  StatusOr<Output> AsBool(Output value, absl::string_view name) {
    if (value.dtype() == DType::kBool) return value;
    ASSIGN_OR_RETURN(Node * node, Add("ToBool", name, {value}));
    return Output(node);
  }

  bool TooLarge(const std::vector<FunctionBody>& bodies) const {
    int nodes = graph_.num_nodes();
    for (const FunctionBody& body : bodies) nodes += body.graph->num_nodes();
    return nodes > limit_;
  }

  struct Part {
    std::vector<Output> results;
    Node* end;
  };
  StatusOr<Part> AddBody(const FunctionBody& body, absl::string_view name, const std::vector<Output>& args,
                         std::vector<Node*> after) {
    BodyCopy copy(&graph_,
                  {.name = absl::StrCat(node_->name(), "/", name),
                   .device = node_->device(),
                   .assigned_device = AssignedDevice(),
                   .control_inputs = std::move(after),
                   .branching = true,
                   .results_show_effects = IsWhile(*node_) && !body.control_rets.empty()},
                  body);
    RETURN_IF_ERROR(copy.Run(args));
    RETURN_IF_ERROR(copy.Finish(/*waited_for=*/true));
    for (Node* twin : copy.twins()) Note(twin, depth_ + 1, in_loop_ || IsWhile(*node_));
    return Part{copy.results(), copy.exit()};
  }

  void Replace(const std::vector<Output>& outputs, Node* end) {
    for (size_t i = 0; i < outputs.size(); ++i) replaced_.Replace(Output(node_, static_cast<int>(i)), outputs[i]);
    replaced_.Drop(node_, end);
    lowered_.push_back(node_);
  }

  // The functions of an If, the one for false first, or of a Case.
  std::optional<std::vector<FunctionBody>> BranchBodies() const {
    std::vector<NameAttrList> functions(2);
    if (IsIf(*node_)) {
      if (!node_->GetAttr("else_branch", &functions[0]).ok() || !node_->GetAttr("then_branch", &functions[1]).ok())
        return std::nullopt;
    } else if (!node_->GetAttr("branches", &functions).ok()) {
      return std::nullopt;
    }
    std::vector<FunctionBody> bodies;
    for (const NameAttrList& function : functions) {
      std::optional<FunctionBody> body =
          FindBodyToCopy(*graph_.library(), function, InputTypesFrom(*node_, 1), node_->output_types());
      if (!body) return std::nullopt;
      bodies.push_back(*std::move(body));
    }
    return bodies;
  }

  StatusOr<Node*> AddSwitch(absl::string_view name, Output data, Output choice, size_t branches,
                            std::vector<Node*> control) {
    if (IsIf(*node_)) return Add("Switch", name, {data, choice}, {}, std::move(control));
    AttrMap attrs;
    attrs.Set("num_outs", static_cast<int64_t>(branches));
    return Add("_SwitchN", name, {data, choice}, std::move(attrs), std::move(control));
  }

  StatusOr<Output> AddMerge(absl::string_view name, std::vector<Output> inputs) {
    AttrMap attrs;
    attrs.Set("N", static_cast<int64_t>(inputs.size()));
    ASSIGN_OR_RETURN(Node * merge, Add("Merge", name, std::move(inputs), std::move(attrs)));
    return Output(merge);
  }

  std::string BranchName(size_t branch) const {
    if (!IsIf(*node_)) return absl::StrCat("branch", branch);
    return branch == 0 ? "else" : "then";
  }

  // Every input goes through a Switch into the branches, every result out of them through a Merge.
  Status LowerBranches() {
    const std::optional<std::vector<FunctionBody>> bodies = BranchBodies();
    if (!bodies || TooLarge(*bodies) || (in_loop_ && !StaysHere(*bodies))) return OkStatus();
    const size_t n = bodies->size();
    Output choice = replaced_.Resolve(node_->input(0));
    if (IsIf(*node_)) {
      ASSIGN_OR_RETURN(choice, AsBool(choice, "pred"));
    }
    const std::vector<Node*> waits = IsFreeConstant(*choice.node) ? Waits() : node_->control_inputs();
    ASSIGN_OR_RETURN(Node * pivot, AddSwitch("switch_pred", choice, choice, n, waits));
    std::vector<Node*> switches;
    for (int i = 1; i < node_->num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Node * one, AddSwitch("switch_input", replaced_.Resolve(node_->input(i)), choice, n, waits));
      switches.push_back(one);
    }
    std::vector<Part> parts;
    std::vector<Output> ends;
    for (size_t b = 0; b < n; ++b) {
      ASSIGN_OR_RETURN(Node * taken,
                       Add("Identity", absl::StrCat("pivot_", BranchName(b)), {Output(pivot, static_cast<int>(b))}));
      std::vector<Output> args;
      for (Node* one : switches) args.emplace_back(one, static_cast<int>(b));
      ASSIGN_OR_RETURN(Part part, AddBody((*bodies)[b], BranchName(b), args, {taken}));
      ASSIGN_OR_RETURN(Node * end, Add("Identity", "done", {Output(taken)}, {}, {part.end}));
      parts.push_back(std::move(part));
      ends.emplace_back(end);
    }
    std::vector<Output> outputs;
    for (int i = 0; i < node_->num_outputs(); ++i) {
      std::vector<Output> choices;
      for (const Part& part : parts) choices.push_back(part.results[i]);
      ASSIGN_OR_RETURN(Output merged, AddMerge("merge", std::move(choices)));
      outputs.push_back(merged);
    }
    ASSIGN_OR_RETURN(const Output executed, AddMerge("branch_executed", std::move(ends)));
    Replace(outputs, executed.node);
    return OkStatus();
  }

  struct Variable {
    Node* enter;
    Node* merge = nullptr;  // null: the same in all iterations
    Node* turn = nullptr;   // the Switch into the body or out of the loop
    Output value() const { return Output(merge == nullptr ? enter : merge); }
  };

  // Handles that the body only hands on: whoever uses them must see that they are those from outside.
  static bool IsInvariant(const FunctionBody& body, int i) {
    return body.arg_types[i] == DType::kResource && body.rets[i]->input(0).node == body.args[i];
  }

  StatusOr<Variable> AddVariable(Output initial, bool invariant, int64_t parallel_iterations) {
    AttrMap attrs;
    attrs.Set("frame_name", node_->name());
    attrs.Set("is_constant", invariant);
    attrs.Set("parallel_iterations", parallel_iterations);
    std::vector<Node*> waits = IsFreeConstant(*initial.node) ? Waits() : node_->control_inputs();
    ASSIGN_OR_RETURN(Node * enter, Add("Enter", "enter", {initial}, std::move(attrs), std::move(waits)));
    Variable variable{enter};
    if (invariant) return variable;
    ASSIGN_OR_RETURN(const Output merge, AddMerge("merge", {Output(enter), Output(enter)}));
    variable.merge = merge.node;
    return variable;
  }

  // The condition in the frame of the loop, and a Switch behind it for every variable.
  Status AddTurns(const FunctionBody& condition, std::vector<Variable>* variables) {
    std::vector<Output> args;
    for (const Variable& v : *variables) args.push_back(v.value());
    ASSIGN_OR_RETURN(const Part part, AddBody(condition, "cond", args, {}));
    ASSIGN_OR_RETURN(const Output more, AsBool(part.results[0], "more"));
    ASSIGN_OR_RETURN(Node * loop_cond, Add("LoopCond", "loop_cond", {more}));
    for (Variable& v : *variables) {
      if (v.merge == nullptr) continue;
      ASSIGN_OR_RETURN(v.turn, Add("Switch", "switch", {Output(v.merge), Output(loop_cond)}));
    }
    return OkStatus();
  }

  // What does not change is there after the last iteration, too: the body runs only if the loop goes on.
  StatusOr<Part> AddLoopBody(const FunctionBody& body, const std::vector<Variable>& variables) {
    std::vector<Output> args;
    Node* carried = nullptr;
    for (const Variable& v : variables) {
      args.push_back(v.turn == nullptr ? Output(v.enter) : Output(v.turn, 1));
      if (v.turn != nullptr) carried = v.turn;
    }
    ASSIGN_OR_RETURN(Node * pivot, Add("Identity", "pivot", {Output(carried, 1)}));
    return AddBody(body, "body", args, {pivot});
  }

  StatusOr<Output> CloseVariable(const Variable& v, Output next) {
    ASSIGN_OR_RETURN(Node * step, Add("NextIteration", "next_iteration", {next}));
    graph_.SetInput(v.merge, 1, Output(step));
    ASSIGN_OR_RETURN(Node * exit, Add("Exit", "exit", {Output(v.turn, 0)}));
    return Output(exit);
  }

  std::optional<std::vector<FunctionBody>> LoopBodies() const {
    std::vector<FunctionBody> bodies;
    const std::vector<DType> types = InputTypesFrom(*node_, 0);
    for (const char* attr : {"cond", "body"}) {
      NameAttrList function;
      if (!node_->GetAttr(attr, &function).ok()) return std::nullopt;
      const bool is_cond = bodies.empty();
      std::optional<FunctionBody> body =
          FindBodyToCopy(*graph_.library(), function, types, is_cond ? std::vector<DType>{DType::kBool} : types);
      if (!body) return std::nullopt;
      bodies.push_back(*std::move(body));
    }
    return bodies;
  }

  Status LowerLoop() {
    const std::optional<std::vector<FunctionBody>> bodies = LoopBodies();
    if (!bodies || TooLarge(*bodies) || !StaysHere(*bodies)) return OkStatus();
    const FunctionBody& body = (*bodies)[1];
    const int n = node_->num_inputs();
    int invariants = 0;
    for (int i = 0; i < n; ++i) invariants += IsInvariant(body, i);
    if (invariants == n) return OkStatus();  // nothing would carry it from one iteration to the next
    int64_t parallel_iterations = 10;
    RETURN_IF_ERROR(node_->GetAttr("parallel_iterations", &parallel_iterations));
    std::vector<Variable> variables;
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(Variable v, AddVariable(replaced_.Resolve(node_->input(i)), IsInvariant(body, i),
                                               std::max<int64_t>(parallel_iterations, 1)));
      variables.push_back(v);
    }
    RETURN_IF_ERROR(AddTurns((*bodies)[0], &variables));
    ASSIGN_OR_RETURN(const Part part, AddLoopBody(body, variables));
    std::vector<Output> outputs;
    std::vector<Node*> exits;
    for (int i = 0; i < n; ++i) {
      outputs.push_back(replaced_.Resolve(node_->input(i)));
      if (variables[i].turn == nullptr) continue;
      ASSIGN_OR_RETURN(outputs[i], CloseVariable(variables[i], part.results[i]));
      exits.push_back(outputs[i].node);
    }
    ASSIGN_OR_RETURN(Node * end, Add("NoOp", "executed", {}, {}, std::move(exits)));
    Replace(outputs, end);
    return OkStatus();
  }

  PrunedGraph& part_;
  Graph& graph_;
  int limit_ = 0;
  std::vector<Item> waiting_;
  Node* node_ = nullptr;  // the one that is being lowered
  int depth_ = 0;
  bool in_loop_ = false;
  std::vector<Node*> lowered_;
  Replacements replaced_;
};

}  // namespace

bool IsLoweredControlFlow(const Node& node) {
  if (!IsIf(node) && !IsCase(node) && !IsWhile(node)) return false;
  const AttrValue* value = node.attrs().Find("_lower_using_switch_merge");
  const bool* wanted = value == nullptr ? nullptr : value->get<bool>();
  return wanted != nullptr && *wanted;
}

StatusOr<bool> LowerControlFlow(PrunedGraph* part) { return ControlFlowLowering(part).Run(); }

}  // namespace millstream
