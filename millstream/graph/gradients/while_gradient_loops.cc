// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/gradients/while_gradient.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {

ForwardLoop::ForwardLoop(const Scope& outside, const LoopFrame& loop, const ControlFlow& flow)
    : LoopContext(outside, loop.name, loop.parallel_iterations), loop_(loop), flow_(flow), start_(outside) {}

StatusOr<Output> ForwardLoop::AddCounter(BranchGuards& guards) {
  if (loop_.loop_cond == nullptr || loop_.variables.empty()) {
    return errors::InvalidArgument("Loop '", loop_.name, "' has no LoopCond or no variable");
  }
  // The counter must not start where the loop is on a branch that is not taken.
  Output entering = loop_.variables[0].enter->input(0);
  if (!guards.Of(entering).empty()) {
    if (IsSwitch(*entering.node)) entering = outside_.Op("Identity", {entering});
    start_ = outside_.WithControlDependencies({entering.node});
  }
  NewVariable v = OpenVariable(start_.WithOpName("f_count").Const<int32_t>(0), Shape());
  AddSwitch(loop_.loop_cond, &v);
  RETURN_IF_ERROR(outside_.status());
  Node* add = Raw("Add", {v.value(), EnterConstant(outside_.Const<int32_t>(1))});
  RETURN_IF_ERROR(outside_.status());
  Added(add);
  pivot_ = add;
  CloseVariable(v, Output(add));
  const Output count = ExitOf(v);
  RETURN_IF_ERROR(outside_.status());
  return count;
}

namespace {

// A list on its way through the branches that decide whether it changes: Switches down, Merges back.
class GuardedList {
 public:
  GuardedList(LoopContext* loop, Node* home, Output list) : loop_(*loop), home_(*home), list_(list) {}
  const Output& list() const { return list_; }
  void Take(Output pred, int side) {
    Node* branch = Add("Switch", {list_, pred});
    other_.push_back(branch == nullptr ? Output() : Output(branch, 1 - side));
    list_ = branch == nullptr ? Output() : Output(branch, side);
  }
  // With what the list has become where it changes.
  Output Join(Output changed) {
    for (auto other = other_.rbegin(); other != other_.rend() && changed; ++other) {
      Node* merge = Add("Merge", {changed, *other});
      changed = merge == nullptr ? Output() : Output(merge, 0);
    }
    return changed;
  }
  Node* Add(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) {
    Node* node = loop_.Raw(type, std::move(inputs), attrs);
    if (node != nullptr) {
      loop_.Added(node);
      Stay(node);
    }
    return node;
  }
  void Stay(Node* node) {
    if (node == nullptr) return;
    node->attrs().Set("_class", AttrValue::Strings{absl::StrCat("loc:@", home_.name())});
    node->set_device(home_.device());
  }
  void Stay(const NewVariable& v) {
    for (Node* node : {v.enter, v.merge, v.branch}) Stay(node);
  }

 private:
  LoopContext& loop_;
  const Node& home_;
  Output list_;
  std::vector<Output> other_;
};

}  // namespace

ForwardLoop::Kept ForwardLoop::Keep(Output value, const BranchGuards::Guard& guard) {
  const Output none = start_.Const<int32_t>(-1);
  Node* home = start_.Add("EmptyTensorList", {none, none}, {{"element_dtype", value.dtype()}});
  if (home == nullptr) return {};
  NewVariable v = OpenVariable(Output(home), Shape());
  if (!outside_.ok()) return {};
  AddSwitch(loop_.loop_cond, &v);
  GuardedList way(this, home, v.value());
  way.Stay(v);
  for (const auto& [pred, side] : guard) way.Take(pred, side);
  if (!outside_.ok()) return {};
  Node* push = way.Add("TensorListPushBack", {way.list(), value});
  if (push == nullptr) return {};
  const Output next = way.Join(Output(push));
  if (!outside_.ok()) return {};
  way.Stay(CloseVariable(v, next));
  const Output list = ExitOf(v);
  if (!list) return {};
  way.Stay(list.node);
  return {list, home};
}

BackwardLoop::BackwardLoop(const Scope& outside, std::string frame_name, const LoopFrame& loop, ForwardLoop* forward,
                           const Scope& forward_scope, BranchGuards* guards)
    : LoopContext(outside, std::move(frame_name), loop.parallel_iterations),
      forward_(forward),
      forward_scope_(forward_scope),
      guards_(guards) {}

Status BackwardLoop::Open(Output count, const std::vector<Output>& initial, const std::vector<PartialShape>& shapes) {
  counter_ = OpenVariable(count, Shape());
  for (size_t i = 0; i < initial.size(); ++i) variables_.push_back(OpenVariable(initial[i], shapes[i]));
  RETURN_IF_ERROR(outside_.status());
  Node* more = Raw("Greater", {counter_.merge, EnterConstant(outside_.Const<int32_t>(0))});
  loop_cond_ = Raw("LoopCond", {more});
  RETURN_IF_ERROR(outside_.status());
  AddSwitch(loop_cond_, &counter_);
  for (NewVariable& v : variables_) AddSwitch(loop_cond_, &v);
  RETURN_IF_ERROR(outside_.status());
  pivot_ = Raw("Identity", {counter_.value()});
  Node* less = Raw("Sub", {counter_.value(), EnterConstant(outside_.Const<int32_t>(1))});
  RETURN_IF_ERROR(outside_.status());
  for (Node* node : {more, loop_cond_, pivot_, less}) Added(node);
  CloseVariable(counter_, Output(less));
  return outside_.status();
}

int BackwardLoop::AddVariable(Output initial, const PartialShape& shape) {
  variables_.push_back(OpenVariable(initial, shape));
  if (outside_.ok()) AddSwitch(loop_cond_, &variables_.back());
  return static_cast<int>(variables_.size()) - 1;
}

Status BackwardLoop::Close(const Scope& inside, const std::vector<Output>& next, std::vector<Output>* results) {
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Output value = inside.Import(next[i]);
    RETURN_IF_ERROR(outside_.status());
    CloseVariable(variables_[i], value);
    results->push_back(ExitOf(variables_[i]));
  }
  return outside_.status();
}

Output BackwardLoop::Invariant(Output value) const {
  while (true) {
    if (!forward_->Inside(value)) return Output();
    if (IsConstantEnter(*value.node)) return value.node->input(0);
    if (!IsA(*value.node, OpKind::kIdentity)) return Output();
    value = value.node->input(0);
  }
}

Output BackwardLoop::Import(Output value) {
  if (!value || Inside(value)) return value;
  if (auto it = imported_.find(value); it != imported_.end()) return it->second;
  if (!forward_->Inside(value)) return EnterConstant(value);
  const Output result = FromForward(value);
  imported_[value] = result;
  return result;
}

namespace {

// Whether a tensor that may be differentiated enters the loop on the way to `value`.
bool DependsOnEntering(const Output& value) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> todo{value.node};
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (!seen.insert(node).second) continue;
    if (IsEnter(*node)) {
      if (IsDifferentiable(node->input(0).dtype())) return true;
      continue;
    }
    for (const Output& in : node->inputs()) todo.push_back(in.node);
  }
  return false;
}

}  // namespace

Output BackwardLoop::FromForward(Output value) {
  Tensor constant;
  // A copy of a constant would hide from second gradients that it depends on what enters the loop.
  if (outside_.shapes().ConstantValue(value, &constant, std::numeric_limits<int64_t>::max()) &&
      !DependsOnEntering(value)) {
    return EnterConstant(outside_.Const(std::move(constant)));
  }
  if (const Output same = Invariant(value)) return EnterConstant(same);
  return Pop(value);
}

Output BackwardLoop::Pop(Output value) {
  const BranchGuards::Guard guard = guards_->Of(value);
  const ForwardLoop::Kept kept = forward_->Keep(value, guard);
  if (!kept.list) return Output();
  NewVariable v = OpenVariable(kept.list, Shape());
  if (!outside_.ok()) return Output();
  AddSwitch(loop_cond_, &v);
  GuardedList way(this, kept.home, v.value());
  way.Stay(v);
  for (const auto& [pred, side] : guard) way.Take(Import(pred), side);
  if (!outside_.ok()) return Output();
  Node* pop = way.Add("TensorListPopBack", {way.list(), EnterConstant(outside_.Const<int32_t>(-1))},
                      {{"element_dtype", value.dtype()}});
  if (pop == nullptr) return Output();
  outside_.shapes().SetShape(Output(pop, 1), outside_.ShapeOf(value));
  const Output rest = way.Join(Output(pop, 0));
  if (!outside_.ok()) return Output();
  way.Stay(CloseVariable(v, rest));
  return Output(pop, 1);
}

const Scope* BackwardLoop::Elsewhere(absl::string_view type, const std::vector<Output>& inputs) {
  if (type == "Const") return &outside_;
  if ((type == "Shape" || type == "Size" || type == "Rank") && inputs.size() == 1 && inputs[0] && !Inside(inputs[0]) &&
      forward_->Inside(inputs[0]) && !Invariant(inputs[0])) {
    return &forward_scope_;
  }
  return nullptr;
}

}  // namespace millstream
