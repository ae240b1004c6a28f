// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/graph_cutter.h"

#include "millstream/graph/reserved_attrs.h"

namespace millstream {

StatusOr<Node*> GraphCutter::Add(int part, NewNode node) {
  Graph& graph = *out_.parts[part].graph.graph;
  Graph::NodeSpec spec;
  ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(node.type));
  spec.name = graph.Find(node.name) == nullptr ? std::move(node.name) : graph.UniqueName(node.name);
  spec.attrs = std::move(node.attrs);
  spec.inputs = std::move(node.inputs);
  spec.control_inputs = std::move(node.control_inputs);
  spec.device = node.device;
  ASSIGN_OR_RETURN(Node * added, graph.AddNode(std::move(spec)));
  added->set_assigned_device(node.device);
  return added;
}

const AttrValue& GraphCutter::NameOf(absl::string_view device) {
  AttrValue& name = device_names_[device];
  if (name.empty()) name = AttrValue(device);
  return name;
}

StatusOr<Node*> GraphCutter::Cut(const NewEdge& edge) {
  const Node& node = *edge.node;
  const LoopFrame* frame = flow_.frame(&node);
  const Twin& from = twins_[node.id()];
  const auto id = static_cast<int64_t>(out_.edges.size());
  const DType dtype = edge.value.dtype();
  out_.edges.push_back({static_cast<uint32_t>(id), from.part, edge.to, dtype, frame != nullptr, edge.tensor});

  AttrMap attrs;
  attrs.Set(kEdgeAttr, id);
  attrs.Set("tensor_name", absl::StrCat("edge_", id, "_", node.name()));
  attrs.Set("send_device", NameOf(from.node->assigned_device()));
  attrs.Set("recv_device", NameOf(edge.device));
  NewNode send{frame == nullptr ? "_Send" : "_LoopSend",
               absl::StrCat(node.name(), "/_send_", id),
               {edge.value},
               {},
               attrs,
               from.node->assigned_device()};
  send.attrs.Set("T", dtype);
  if (edge.after != nullptr) send.control_inputs.push_back(edge.after);
  ASSIGN_OR_RETURN(Node * sender, Add(from.part, std::move(send)));
  out_.parts[from.part].graph.targets.push_back(sender);

  NewNode recv{"_Recv", absl::StrCat(node.name(), "/_recv_", id), {}, {}, std::move(attrs), edge.device};
  recv.attrs.Set("tensor_type", dtype);
  if (edge.may_be_dead || frame != nullptr) recv.attrs.Set("_may_be_dead", true);
  if (frame != nullptr) recv.control_inputs.push_back(loops_[{frame, edge.to}]);
  return Add(edge.to, std::move(recv));
}

StatusOr<Output> GraphCutter::Receive(const Output& value, int to, absl::string_view device) {
  const Node& node = *value.node;
  // First, since a control loop may receive this very value.
  if (const LoopFrame* frame = flow_.frame(&node)) RETURN_IF_ERROR(ControlLoop(frame, to).status());
  if (auto it = received_.find({node.id(), value.index, to}); it != received_.end()) return Output(it->second);
  ASSIGN_OR_RETURN(Node * recv, Cut({&node, value.name(), Output(twins_[node.id()].node, value.index), nullptr,
                                     dead_.MayBeDead(value), to, device}));
  received_[{node.id(), value.index, to}] = recv;
  // One side of a Switch says nothing about the Switch itself; any other value comes when its node is done.
  if (!DeadValues::IsSwitching(node)) done_.try_emplace({node.id(), to}, recv);
  return Output(recv);
}

StatusOr<Node*> GraphCutter::ReceiveDone(const Node& node, int to, absl::string_view device) {
  if (const LoopFrame* frame = flow_.frame(&node)) RETURN_IF_ERROR(ControlLoop(frame, to).status());
  if (auto it = done_.find({node.id(), to}); it != done_.end()) return it->second;
  const Twin& from = twins_[node.id()];
  ASSIGN_OR_RETURN(Node * nothing, Nothing(from.part, from.node->assigned_device()));
  ASSIGN_OR_RETURN(Node * recv, Cut({&node, absl::StrCat("^", node.name()), Output(nothing), from.node,
                                     dead_.MayBeDead(node), to, device}));
  done_[{node.id(), to}] = recv;
  return recv;
}

StatusOr<Node*> GraphCutter::Nothing(int part, absl::string_view device) {
  if (nothing_[part] == nullptr) {
    NewNode node{"Const", "_nothing", {}, {}, {}, device};
    node.attrs.Set("value", Tensor(DType::kFloat, Shape({0})));
    node.attrs.Set("dtype", DType::kFloat);
    ASSIGN_OR_RETURN(nothing_[part], Add(part, std::move(node)));
  }
  return nothing_[part];
}

StatusOr<Node*> GraphCutter::ControlLoop(const LoopFrame* frame, int part) {
  // Outer loops first: an inner one begins in each iteration of them. Without recursion: nesting may be deep.
  std::vector<const LoopFrame*> missing;
  for (const LoopFrame* f = frame; f != nullptr && !loops_.contains({f, part}); f = f->parent) missing.push_back(f);
  for (; !missing.empty(); missing.pop_back()) {
    const LoopFrame* f = missing.back();
    if (f->loop_cond == nullptr) {
      return errors::InvalidArgument("Loop '", f->name, "' runs on several tasks but has no LoopCond");
    }
    RETURN_IF_ERROR(AddControlLoop(f, part).status());
  }
  return loops_[{frame, part}];
}

StatusOr<Node*> GraphCutter::AddControlLoop(const LoopFrame* frame, int part) {
  GraphPart& here = out_.parts[part];
  const absl::string_view device = here.graph.graph->nodes().front()->assigned_device();
  const Node& cond = *frame->loop_cond;
  const auto make = [&](const char* type, const char* name, std::vector<Output> inputs) {
    NewNode node{type, absl::StrCat(cond.name(), "/_control_", name), std::move(inputs), {}, {}, device};
    node.attrs.Set("T", DType::kFloat);
    return node;
  };
  ASSIGN_OR_RETURN(Node * nothing, Nothing(part, device));
  NewNode enter = make("Enter", "enter", {Output(nothing)});
  enter.attrs.Set("frame_name", frame->name);
  enter.attrs.Set("parallel_iterations", frame->parallel_iterations);
  if (frame->parent != nullptr) enter.control_inputs.push_back(loops_[{frame->parent, part}]);
  ASSIGN_OR_RETURN(Node * entered, Add(part, std::move(enter)));
  NewNode first_or_next = make("Merge", "merge", {Output(entered), Output(entered)});
  first_or_next.attrs.Set("N", 2);
  ASSIGN_OR_RETURN(Node * merge, Add(part, std::move(first_or_next)));
  loops_[{frame, part}] = merge;

  Output more(twins_[cond.id()].node);
  if (twins_[cond.id()].part != part) {
    ASSIGN_OR_RETURN(more, Receive(Output(frame->loop_cond), part, device));
  }
  ASSIGN_OR_RETURN(Node * branch, Add(part, make("Switch", "switch", {Output(merge), more})));
  ASSIGN_OR_RETURN(Node * next, Add(part, make("NextIteration", "next", {Output(branch, 1)})));
  here.graph.graph->SetInput(merge, 1, Output(next));
  // Iterations begin on this task even where only constants of the loop are read in them.
  here.graph.targets.push_back(next);
  return merge;
}

}  // namespace millstream
