// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradient.h"
#include "millstream/graph/shape_refiner.h"
#include "millstream/graph/while_gradient.h"

namespace millstream {

ForwardLoop::ForwardLoop(const Scope& outside, const LoopFrame& loop, const ControlFlow& flow)
    : LoopContext(outside, loop.name, loop.parallel_iterations), loop_(loop), flow_(flow) {}

StatusOr<Output> ForwardLoop::AddCounter(BranchGuards& guards) {
  if (loop_.loop_cond == nullptr || loop_.variables.empty()) {
    return errors::InvalidArgument("Loop '", loop_.name, "' has no LoopCond or no variable");
  }
  // The counter must not start where the loop is on a branch that is not taken.
  Output entering = loop_.variables[0].enter->input(0);
  Scope guarded = outside_;
  if (!guards.Of(entering).empty()) {
    if (IsSwitch(*entering.node)) entering = outside_.Op("Identity", {entering});
    guarded = outside_.WithControlDependencies({entering.node});
  }
  NewVariable v = OpenVariable(guarded.WithOpName("f_count").Const<int32_t>(0), Shape());
  AddSwitch(loop_.loop_cond, &v);
  RETURN_IF_ERROR(outside_.status());
  counter_add_ = Raw("Add", {v.value(), EnterConstant(outside_.Const<int32_t>(1))});
  RETURN_IF_ERROR(outside_.status());
  Added(counter_add_);
  pivot_ = counter_add_;
  counter_next_ = CloseVariable(v, Output(counter_add_));
  const Output count = ExitOf(v);
  RETURN_IF_ERROR(outside_.status());
  return count;
}

Output ForwardLoop::Push(const Scope& inside, Output value, bool always) {
  const Output stack = outside_.Op("StackV2", {outside_.Const<int32_t>(-1)}, {{"elem_type", value.dtype()}});
  Node* push = inside.WithControlDependencies({counter_add_}).Add("StackPushV2", {stack, value});
  if (push == nullptr) return Output();
  Graph& graph = *outside_.graph();
  if (always) {
    graph.AddControlInput(counter_next_, push);
    return stack;
  }
  // A push that may not happen must not keep the counter from going on.
  if (sync_ == nullptr) {
    sync_ = outside_.WithContext(nullptr).WithControlDependencies({push}).Add("ControlTrigger", {});
    if (sync_ == nullptr) return Output();
    Added(sync_);
    graph.AddControlInput(counter_next_, sync_);
  } else {
    graph.AddControlInput(sync_, push);
  }
  return stack;
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
  counter_next_ = CloseVariable(counter_, Output(less));
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
    if (!value.node->Is("Identity")) return Output();
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

Output BackwardLoop::FromForward(Output value) {
  Tensor constant;
  if (outside_.shapes().ConstantValue(value, &constant, std::numeric_limits<int64_t>::max())) {
    return EnterConstant(outside_.Const(std::move(constant)));
  }
  if (const Output same = Invariant(value)) return EnterConstant(same);
  return Pop(value);
}

Output BackwardLoop::Pop(Output value) {
  const BranchGuards::Guard guard = guards_->Of(value);
  Output handle = EnterConstant(forward_->Push(forward_scope_, value, guard.empty()));
  for (const auto& [pred, side] : guard) {
    if (!handle) return Output();
    Node* branch = Raw("Switch", {handle, Import(pred)});
    if (branch == nullptr) return Output();
    Added(branch);
    handle = Output(branch, side);
  }
  const Scope raw = outside_.WithContext(nullptr);
  Node* pop = raw.WithControlDependencies({pivot_}).Add("StackPopV2", {handle}, {{"elem_type", value.dtype()}});
  if (pop == nullptr) return Output();
  Added(pop);
  outside_.shapes().SetShape(Output(pop), outside_.ShapeOf(value));
  Graph& graph = *outside_.graph();
  if (sync_ != nullptr) {
    graph.AddControlInput(sync_, pop);
  } else if ((sync_ = raw.WithControlDependencies({pop}).Add("ControlTrigger", {})) != nullptr) {
    Added(sync_);
    graph.AddControlInput(counter_next_, sync_);
  }
  return Output(pop);
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
