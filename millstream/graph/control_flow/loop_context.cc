// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/control_flow/loop_context.h"

#include "millstream/graph/control_flow.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {

LoopContext::LoopContext(const Scope& outside, std::string frame_name, int64_t parallel_iterations)
    : outside_(outside), frame_name_(std::move(frame_name)), parallel_iterations_(parallel_iterations) {}

Node* LoopContext::Raw(absl::string_view type, std::vector<Output> inputs, Attrs attrs) const {
  return outside_.WithContext(nullptr).Add(type, std::move(inputs), attrs);
}

// A constant of a loop has a value in the loop's last round too: what hands it on must not do so then.
void LoopContext::WaitFor(Node* pivot, Node* node) const {
  if (pivot != nullptr && IsConstantEnter(*node->input(0).node)) outside_.graph()->AddControlInput(node, pivot);
}

Output LoopContext::Import(Output value) { return Inside(value) ? value : EnterConstant(value); }

Output LoopContext::EnterConstant(Output value) {
  if (!value) return value;
  if (auto it = imported_.find(value); it != imported_.end()) return it->second;
  const Output from = outside_.Import(value);
  if (!from) return from;
  const bool ref = IsRef(from.node->output_type(from.index));  // so that the loop may assign to the variable
  Node* enter =
      Raw(ref ? "RefEnter" : "Enter", {from},
          {{"frame_name", frame_name_}, {"is_constant", true}, {"parallel_iterations", parallel_iterations_}});
  if (enter == nullptr) return Output();
  Added(enter);
  outside_.shapes().SetShape(Output(enter), outside_.ShapeOf(from));
  return imported_[value] = Output(enter);
}

NewVariable LoopContext::OpenVariable(Output initial, const PartialShape& shape) {
  NewVariable v;
  const Output from = outside_.Import(initial);
  v.enter = Raw("Enter", {from},
                {{"frame_name", frame_name_}, {"is_constant", false}, {"parallel_iterations", parallel_iterations_}});
  v.merge = Raw("Merge", {v.enter, v.enter});
  if (v.merge == nullptr) return v;
  if (outside_.context() != nullptr) WaitFor(outside_.context()->pivot(), v.enter);
  outside_.shapes().SetShape(Output(v.enter), shape);
  outside_.shapes().SetShape(Output(v.merge), shape);
  Added(v.enter);
  Added(v.merge);
  return v;
}

void LoopContext::AddSwitch(Node* loop_cond, NewVariable* v) {
  v->branch = Raw("Switch", {v->merge, loop_cond});
  if (v->branch == nullptr) return;
  const PartialShape shape = outside_.ShapeOf(v->merge);
  for (int i = 0; i < 2; ++i) outside_.shapes().SetShape(Output(v->branch, i), shape);
  Added(v->branch);
}

Node* LoopContext::CloseVariable(const NewVariable& v, Output next) {
  Node* node = Raw("NextIteration", {next});
  if (node == nullptr) return nullptr;
  Added(node);
  WaitFor(pivot_, node);
  outside_.graph()->SetInput(v.merge, 1, Output(node));
  return node;
}

Output LoopContext::ExitOf(const NewVariable& v) {
  Node* exit = Raw("Exit", {Output(v.branch, 0)});
  if (exit == nullptr) return Output();
  outside_.shapes().SetShape(Output(exit), outside_.ShapeOf(Output(v.branch, 0)));
  if (outside_.context() != nullptr) outside_.context()->Added(exit);
  return Output(exit);
}

}  // namespace millstream
