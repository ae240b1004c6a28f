// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient_builder.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "millstream/graph/gradients/function_gradients.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {

// A node, or a loop as a whole.
struct GradientBuilder::Unit {
  Node* node = nullptr;
  const LoopFrame* loop = nullptr;
  const void* key() const { return loop != nullptr ? static_cast<const void*>(loop) : node; }
};

// Names of what is in the scope that the gradients are in are cut, so that gradients of gradients do not double them.
GradientBuilder::GradientBuilder(const Scope& scope, const GradientOptions& options)
    : scope_(scope), options_(options) {
  prefix_ = scope.name_prefix();
  prefix_.resize(prefix_.rfind('/', prefix_.size() - 2) + 1);
}

namespace {

// The node that made the stack behind a handle, or the one that it was popped from.
const Node* StackBehind(const Node& push_or_pop) {
  const Node* n = push_or_pop.input(0).node;
  while (n->num_inputs() > 0 && (IsEnter(*n) || IsSwitch(*n) || IsA(*n, OpKind::kIdentity))) n = n->input(0).node;
  return n;
}

// The gradient of a loop gets values of the loop through stacks, where no walk along edges follows.
Status CheckStacks(const Graph& graph, const std::vector<Output>& ys, const std::vector<bool>& from_x) {
  std::unordered_set<const Node*> stacks;
  for (const auto& node : graph.nodes()) {
    if (node != nullptr && from_x[node->id()] && IsA(*node, OpKind::kStackPush)) stacks.insert(StackBehind(*node));
  }
  if (stacks.empty()) return OkStatus();
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> todo;
  for (const Output& y : ys) todo.push_back(y.node);
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (!seen.insert(node).second) continue;
    if (IsA(*node, OpKind::kStackPop) &&
        (IsA(*StackBehind(*node), OpKind::kStackPop) || stacks.contains(StackBehind(*node)))) {
      return errors::Unimplemented("Second-order gradient for while loops not supported, at '", node->name(), "'");
    }
    for (const Output& in : node->inputs()) todo.push_back(in.node);
  }
  return OkStatus();
}

}  // namespace

Status GradientBuilder::Prepare(const std::vector<Output>& ys, const std::vector<Output>& xs) {
  const Graph& graph = *scope_.graph();
  ASSIGN_OR_RETURN(flow_, ControlFlow::Analyze(graph));
  for (const Output& o : options_.stop_gradients) {
    if (o) stop_.insert(o.node);
  }
  const std::vector<std::vector<Graph::Consumer>> consumers = graph.Consumers();
  std::vector<bool> from_x(graph.id_limit(), false);
  std::vector<const Node*> stack;
  const auto push = [&](std::vector<bool>& seen, const Node* node) {
    if (seen[node->id()]) return;
    seen[node->id()] = true;
    stack.push_back(node);
  };
  for (const Output& x : xs) push(from_x, x.node);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Graph::Consumer& c : consumers[node->id()]) {
      if (c.input >= 0 && IsDifferentiable(node->output_type(c.output))) push(from_x, c.node);
    }
  }
  RETURN_IF_ERROR(CheckStacks(graph, ys, from_x));
  between_.assign(graph.id_limit(), false);
  const auto push_back = [&](const Node* node) {
    if (from_x[node->id()]) push(between_, node);
  };
  for (const Output& y : ys) push_back(y.node);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (stop_.contains(node)) continue;
    for (const Output& in : node->inputs())
      if (IsDifferentiable(in.dtype())) push_back(in.node);
  }
  return OkStatus();
}

GradientBuilder::Unit GradientBuilder::UnitOf(const Output& output) const {
  if (IsExit(*output.node)) return {nullptr, flow_.frame(output.node->input(0).node)};
  return {output.node, nullptr};
}

// Where a walk through a loop's own body ends; a walk that began in a body passes constants on to where they enter.
bool GradientBuilder::IsLeaf(const Region& region, const Node& node) const {
  if (stop_.contains(&node)) return true;
  if (IsEnter(node)) return region.body || !IsConstantEnter(node);
  return IsLoopMerge(node) || IsLoopSwitch(node);
}

std::vector<Output> GradientBuilder::InputsOf(const Region& region, const Unit& unit) const {
  std::vector<Output> inputs;
  const auto add = [&](const Output& o) {
    if (Wanted(o)) inputs.push_back(o);
  };
  if (unit.loop != nullptr) {
    for (const Node* enter : unit.loop->constants)
      if (Between(enter)) add(enter->input(0));
    for (const LoopVariable& v : unit.loop->variables)
      if (Between(v.merge)) add(v.enter->input(0));
  } else if (!IsLeaf(region, *unit.node)) {
    for (const Output& in : unit.node->inputs()) add(in);
  }
  return inputs;
}

// Consumers before producers.
std::vector<GradientBuilder::Unit> GradientBuilder::Order(const Region& region,
                                                          const std::vector<Output>& seeds) const {
  std::vector<Unit> order;
  std::unordered_set<const void*> seen;
  std::vector<std::pair<Unit, bool>> stack;
  for (const Output& y : seeds)
    if (Wanted(y)) stack.emplace_back(UnitOf(y), false);
  while (!stack.empty()) {
    const auto [unit, ready] = stack.back();
    stack.pop_back();
    if (ready) {
      order.push_back(unit);
      continue;
    }
    if (!seen.insert(unit.key()).second) continue;
    stack.emplace_back(unit, true);
    for (const Output& in : InputsOf(region, unit)) stack.emplace_back(UnitOf(in), false);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Status GradientBuilder::Walk(const Region& region, const std::vector<Output>& seeds, Grads* grads) {
  for (const Unit& unit : Order(region, seeds)) {
    if (InputsOf(region, unit).empty()) continue;
    if (unit.loop != nullptr)
      RETURN_IF_ERROR(WhileGradient(*this, region, *unit.loop, grads));
    else
      RETURN_IF_ERROR(Differentiate(region, unit.node, grads));
  }
  return OkStatus();
}

Status GradientBuilder::CallGradient(GradContext& ctx) {
  const Node& node = ctx.node();
  if (options_.custom != nullptr) {
    ASSIGN_OR_RETURN(const bool handled, options_.custom(ctx));
    if (handled) return ctx.status();
  }
  if (node.op().not_differentiable) return OkStatus();
  if (IsEnter(node)) {  // of a constant, for a walk that began inside
    ctx.set_dx(0, ctx.grad(0));
    return OkStatus();
  }
  const GradFn fn = node.op().grad != nullptr ? node.op().grad : FunctionCallGradient(node);
  if (fn == nullptr) {
    return errors::NotFound("No gradient defined for operation '", node.name(), "' (op type: ", node.type(), ")");
  }
  RETURN_IF_ERROR(fn(ctx));
  return ctx.status();
}

Status GradientBuilder::CheckGradient(const Node& node, int i, const Grad& grad) const {
  if (grad.IsSparse() || node.input(i).dtype() == DType::kResource) return OkStatus();
  const Output& x = node.input(i);
  if (grad.dense.dtype() != x.dtype()) {
    return errors::InvalidArgument("The gradient of operation '", node.name(), "' (op type: ", node.type(),
                                   ") for input ", i, " has type ", DTypeName(grad.dense.dtype()), ", not ",
                                   DTypeName(x.dtype()));
  }
  ShapeRefiner& shapes = scope_.shapes();
  if (!shapes.MergeShape(grad.dense, shapes.shape(x)).ok()) {
    return errors::InvalidArgument(
        "Incompatible shapes between op input and calculated input gradient. Forward operation: ", node.name(),
        ". Input index: ", i, ". Original input shape: ", shapes.shape(x).ToString(),
        ". Calculated input gradient shape: ", shapes.shape(grad.dense).ToString());
  }
  return OkStatus();
}

Status GradientBuilder::Differentiate(const Region& region, Node* node, Grads* grads) {
  std::vector<Grad> dy(node->num_outputs());
  bool any = false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    if (!IsDifferentiable(node->output_type(i))) continue;
    dy[i] = Sum(region.backward, Output(node, i), grads);
    any |= !dy[i].IsNone();
  }
  RETURN_IF_ERROR(scope_.status());
  if (!any) return OkStatus();
  Scope scope = region.backward.NameScope(absl::StrCat(absl::StripPrefix(node->name(), prefix_), "_grad"));
  if (options_.colocate_gradients_with_ops) scope = scope.ColocateWith(node);
  GradContext ctx(scope, node, std::move(dy));
  RETURN_IF_ERROR(CallGradient(ctx));
  std::vector<Grad> dx = ctx.dx();
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (dx[i].IsNone()) continue;
    if (!Wanted(node->input(i)))
      dx[i] = Grad();
    else
      RETURN_IF_ERROR(CheckGradient(*node, i, dx[i]));
  }
  if (options_.gate_gradients) Gate(scope, &dx);
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (!dx[i].IsNone()) (*grads)[node->input(i)].push_back(dx[i]);
  }
  return scope_.status();
}

void GradientBuilder::Gate(const Scope& scope, std::vector<Grad>* grads) const {
  std::vector<Node*> sources;
  for (const Grad& g : *grads) {
    const Output value = scope.Import(g.IsSparse() ? g.values : g.dense);
    if (value) sources.push_back(value.node);
    if (g.IsSparse()) sources.push_back(scope.Import(g.indices).node);
  }
  if (std::count_if(grads->begin(), grads->end(), [](const Grad& g) { return !g.IsNone(); }) < 2) return;
  Node* gate = scope.WithControlDependencies(sources).WithOpName("tuple/group_deps").Add("NoOp", {});
  if (gate == nullptr) return;
  const Scope after = scope.WithControlDependencies({gate}).WithOpName("tuple/control_dependency");
  for (Grad& g : *grads) {
    if (g.IsNone()) continue;
    if (!g.IsSparse()) {
      g.dense = after.Op("Identity", {g.dense});
    } else {
      g.values = after.Op("Identity", {g.values});
      g.indices = after.Op("Identity", {g.indices});
    }
  }
}

}  // namespace millstream
