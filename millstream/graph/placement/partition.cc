// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/partition.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "millstream/framework/device_name.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/placement/graph_cutter.h"

namespace millstream {
namespace {

// Below this a constant costs less as a part of the graph than as a message in each step.
constexpr size_t kMaxRepeatedBytes = 4096;

StatusOr<std::string> TaskOf(const Node& node) {
  StatusOr<DeviceName> name = DeviceName::Parse(node.assigned_device());
  if (!name.ok() || !name->job || !name->replica || !name->task) {
    return errors::InvalidArgument("Node '", node.name(), "' is on no task: its device is '", node.assigned_device(),
                                   "'");
  }
  name->type.reset();
  name->index.reset();
  return name->ToString();
}

bool IsSmallConstant(const Node& node) {
  Tensor value;
  return IsFreeConstant(node) && node.GetAttr("value", &value).ok() && value.ByteSize() <= kMaxRepeatedBytes;
}

// Nodes that run where they are read, once on each task: then a value enters a loop once instead of being sent in each
// iteration, and both inputs of a loop's Merge are beside it.
bool FollowsReaders(const Node& node) {
  return ((IsEnter(node) || IsNextIteration(node)) && !IsRefTwin(node)) || IsSmallConstant(node);
}

// Somebody who reads it from another task could not do so in the iterations where it has a value.
bool StaysWithReaders(const Node& node) { return IsNextIteration(node) || (IsEnter(node) && !IsConstantEnter(node)); }

class Partitioner {
 public:
  explicit Partitioner(PrunedGraph whole) : whole_(std::move(whole)), graph_(*whole_.graph) {}

  StatusOr<PartitionedGraph> Run() {
    RETURN_IF_ERROR(FindTasks());
    if (task_names_.size() <= 1) return Whole();
    ASSIGN_OR_RETURN(order_, graph_.TopologicalOrder());
    ASSIGN_OR_RETURN(flow_, ControlFlow::Analyze(graph_));
    MoveExits();
    FindCopies();
    MakeParts();
    const DeadValues dead(graph_, order_, flow_);
    GraphCutter cutter(flow_, dead, twins_, &out_);
    RETURN_IF_ERROR(JoinLoops(&cutter));
    RETURN_IF_ERROR(ConnectInputs(&cutter));
    RETURN_IF_ERROR(ConnectControl(&cutter));
    SetResults();
    return std::move(out_);
  }

 private:
  // A node of one part: a twin of `of`.
  struct Placed {
    const Node* of;
    int part;
    Node* node;
  };
  // Where a node that follows its readers is to be.
  struct Copy {
    int task;
    absl::string_view device;
    Node* node = nullptr;
  };

  Status FindTasks() {
    task_.assign(static_cast<size_t>(graph_.id_limit()), -1);
    device_.resize(static_cast<size_t>(graph_.id_limit()));
    follows_.assign(static_cast<size_t>(graph_.id_limit()), false);
    is_arg_.assign(static_cast<size_t>(graph_.id_limit()), false);
    for (const Node* arg : whole_.args) is_arg_[arg->id()] = true;
    absl::flat_hash_map<absl::string_view, int> of_device;
    absl::flat_hash_map<std::string, int> of_name;
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      if (node->IsTransfer())
        return errors::InvalidArgument("Node '", node->name(), "': a program cannot use op '", node->type(), "'");
      follows_[node->id()] = is_arg_[node->id()] || FollowsReaders(*node);
      device_[node->id()] = node->assigned_device();
      if (is_arg_[node->id()]) continue;
      auto [it, inserted] = of_device.try_emplace(node->assigned_device(), 0);
      if (inserted) {
        ASSIGN_OR_RETURN(std::string task, TaskOf(*node));
        auto [known, fresh] = of_name.try_emplace(task, static_cast<int>(task_names_.size()));
        if (fresh) task_names_.push_back(std::move(task));
        it->second = known->second;
      }
      task_[node->id()] = it->second;
    }
    return OkStatus();
  }

  StatusOr<PartitionedGraph> Whole() {
    if (task_names_.empty()) {
      if (whole_.args.empty()) return std::move(out_);
      ASSIGN_OR_RETURN(std::string task, TaskOf(*whole_.args.front()));
      task_names_.push_back(std::move(task));
    }
    GraphPart part;
    part.task = task_names_[0];
    part.arg_numbers.resize(whole_.args.size());
    std::iota(part.arg_numbers.begin(), part.arg_numbers.end(), 0);
    part.ret_numbers.resize(whole_.rets.size());
    std::iota(part.ret_numbers.begin(), part.ret_numbers.end(), 0);
    part.graph = std::move(whole_);
    out_.parts.push_back(std::move(part));
    return std::move(out_);
  }

  // The loop whose iterations run the node.
  const LoopFrame* FrameOf(const Node& node) const {
    if (IsEnter(node)) return flow_.frame(&node)->parent;
    return flow_.frame(IsExit(node) ? node.input(0).node : &node);
  }

  // A result leaves its loop where it is computed: one message instead of one in each iteration.
  void MoveExits() {
    for (Node* node : order_) {
      if (!IsExit(*node) || IsRefTwin(*node) || follows_[node->input(0).node->id()]) continue;
      task_[node->id()] = task_[node->input(0).node->id()];
      device_[node->id()] = device_[node->input(0).node->id()];
    }
  }

  void FindCopies() {
    copies_.resize(static_cast<size_t>(graph_.id_limit()));
    for (const Output& ret : whole_.rets) CopyToOwnTask(*ret.node);
    for (const Node* node : whole_.targets) CopyToOwnTask(*node);
    // Against the order: readers know where they are. NextIterations before all: their Merges come before them.
    for (const Node* node : order_)
      if (IsLoopMerge(*node)) CopyNextTo(*node);
    for (size_t i = order_.size(); i-- > 0;) {
      const Node& node = *order_[i];
      if (!follows_[node.id()]) {
        CopyInputsTo(node, task_[node.id()], device_[node.id()]);
        continue;
      }
      if (copies_[node.id()].empty() && node.IsControlFlow()) CopyToOwnTask(node);
      for (const Copy& copy : copies_[node.id()]) CopyInputsTo(node, copy.task, copy.device);
    }
  }

  void CopyToOwnTask(const Node& node) {
    if (follows_[node.id()] && !is_arg_[node.id()]) CopyTo(node, task_[node.id()], device_[node.id()]);
  }
  void CopyNextTo(const Node& merge) {
    for (const Output& in : merge.inputs()) {
      if (follows_[in.node->id()]) CopyTo(*in.node, task_[merge.id()], device_[merge.id()]);
    }
  }
  void CopyInputsTo(const Node& reader, int task, absl::string_view device) {
    for (const Output& in : reader.inputs()) {
      // Nothing can be received from outside within a loop.
      const bool in_loop = IsFreeConstant(*in.node) && task_[in.node->id()] != task && FrameOf(reader) != nullptr;
      if (follows_[in.node->id()] || in_loop) CopyTo(*in.node, task, device);
    }
    for (const Node* in : reader.control_inputs()) {
      if (follows_[in->id()] && in->IsControlFlow()) CopyTo(*in, task, device);
    }
  }
  void CopyTo(const Node& node, int task, absl::string_view device) {
    if (!copied_.try_emplace({node.id(), task}, copies_[node.id()].size()).second) return;
    copies_[node.id()].push_back({task, task == task_[node.id()] ? device_[node.id()] : device});
  }

  Node* CopyAt(const Node& node, int part) {
    if (copies_[node.id()].empty()) return nullptr;
    auto it = copied_.find({node.id(), task_of_part_[part]});
    return it == copied_.end() ? nullptr : copies_[node.id()][it->second].node;
  }

  // One part for each task that has something to do.
  void MakeParts() {
    part_of_task_.assign(task_names_.size(), -1);
    twins_.resize(static_cast<size_t>(graph_.id_limit()));
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || is_arg_[node->id()]) continue;
      if (!follows_[node->id()]) twins_[node->id()] = AddTwin(*node, task_[node->id()], device_[node->id()]);
      for (Copy& copy : copies_[node->id()]) copy.node = AddTwin(*node, copy.task, copy.device).node;
    }
    for (size_t i = 0; i < whole_.args.size(); ++i) AddArg(*whole_.args[i], static_cast<int>(i));
  }

  Twin AddTwin(const Node& node, int task, absl::string_view device) {
    int& part = part_of_task_[task];
    if (part < 0) {
      part = static_cast<int>(out_.parts.size());
      task_of_part_.push_back(task);
      out_.parts.emplace_back();
      out_.parts.back().task = task_names_[task];
      out_.parts.back().graph.graph = std::make_unique<Graph>(graph_.library());
      out_.parts.back().graph.graph->set_producer_version(graph_.producer_version());
    }
    Node* twin = out_.parts[part].graph.graph->AddCopy(node, {}, {});
    twin->set_assigned_device(device);
    if (device != node.assigned_device()) twin->set_device(device);
    placed_.push_back({&node, part, twin});
    return {twin, part};
  }

  void AddArg(const Node& arg, int number) {
    if (copies_[arg.id()].empty()) {
      const int task = task_of_part_.empty() ? 0 : task_of_part_[0];
      CopyTo(arg, task,
             out_.parts.empty() ? device_[arg.id()] : out_.parts[0].graph.graph->nodes().front()->assigned_device());
    }
    for (Copy& copy : copies_[arg.id()]) {
      const Twin twin = AddTwin(arg, copy.task, copy.device);
      copy.node = twin.node;
      GraphPart& part = out_.parts[twin.part];
      twin.node->attrs().Set("index", static_cast<int64_t>(part.graph.args.size()));
      part.graph.args.push_back(twin.node);
      part.arg_numbers.push_back(number);
    }
  }

  // Every task with nodes of a loop that is not all on one task iterates by itself.
  Status JoinLoops(GraphCutter* cutter) {
    if (flow_.frames().empty()) return OkStatus();
    std::vector<std::pair<const LoopFrame*, int>> present;
    absl::flat_hash_set<std::pair<const LoopFrame*, int>> known;
    absl::flat_hash_map<const LoopFrame*, int> parts;
    const auto mark = [&](const LoopFrame* frame, int part) {
      for (; frame != nullptr && known.insert({frame, part}).second; frame = frame->parent) {
        present.emplace_back(frame, part);
        ++parts[frame];
      }
    };
    for (const Placed& p : placed_) {
      mark(FrameOf(*p.of), p.part);
      if (IsEnter(*p.of) && IsRefTwin(*p.of)) mark(flow_.frame(p.of), p.part);
    }
    for (const auto& [frame, part] : present) {
      if (parts[frame] > 1 && !IteratesAlone(*frame, part)) RETURN_IF_ERROR(cutter->ControlLoop(frame, part).status());
    }
    return OkStatus();
  }

  // Where the condition and a variable are, iterations begin anyway; what else such a part needs is made with the first
  // value that it receives.
  bool IteratesAlone(const LoopFrame& frame, int part) const {
    if (frame.loop_cond == nullptr || twins_[frame.loop_cond->id()].part != part) return false;
    return std::any_of(frame.variables.begin(), frame.variables.end(),
                       [&](const LoopVariable& v) { return twins_[v.merge->id()].part == part; });
  }

  Status CheckCut(const Node& reader, int i) const {
    const Output& in = reader.input(i);
    if (!IsRef(in.node->output_type(in.index))) return OkStatus();
    ASSIGN_OR_RETURN(const std::vector<DType> declared, reader.InputTypes());
    return IsRef(declared[i]) || StaysWithReaders(*in.node) ? Apart(reader, *in.node) : OkStatus();
  }

  static Status Apart(const Node& reader, const Node& node) {
    return errors::InvalidArgument("Node '", reader.name(), "' uses the reference '", node.name(),
                                   "' of another task: '", reader.assigned_device(), "' and '", node.assigned_device(),
                                   "'");
  }

  Status ConnectInputs(GraphCutter* cutter) {
    for (const Placed& p : placed_) {
      std::vector<Output> inputs;
      inputs.reserve(p.of->inputs().size());
      for (int i = 0; i < p.of->num_inputs(); ++i) {
        const Output& in = p.of->input(i);
        if (Node* copy = CopyAt(*in.node, p.part)) {
          inputs.emplace_back(copy, in.index);
        } else if (const Twin& twin = twins_[in.node->id()]; twin.part == p.part) {
          inputs.emplace_back(twin.node, in.index);
        } else {
          RETURN_IF_ERROR(CheckCut(*p.of, i));
          ASSIGN_OR_RETURN(const Output received, cutter->Receive(in, p.part, p.node->assigned_device()));
          inputs.push_back(received);
        }
      }
      out_.parts[p.part].graph.graph->SetInputs(p.node, std::move(inputs));
    }
    return OkStatus();
  }

  // After the inputs: what brings a value says as well that its node is done.
  Status ConnectControl(GraphCutter* cutter) {
    for (const Placed& p : placed_) {
      if (p.of->control_inputs().empty()) continue;
      std::vector<Node*> control;
      control.reserve(p.of->control_inputs().size());
      for (const Node* in : p.of->control_inputs()) {
        if (Node* copy = CopyAt(*in, p.part)) {
          control.push_back(copy);
        } else if (const Twin& twin = twins_[in->id()]; twin.part == p.part) {
          control.push_back(twin.node);
        } else if (!is_arg_[in->id()] && !IsFreeConstant(*in)) {  // those are there from the beginning
          if (StaysWithReaders(*in)) return Apart(*p.of, *in);
          ASSIGN_OR_RETURN(Node * done, cutter->ReceiveDone(*in, p.part, p.node->assigned_device()));
          control.push_back(done);
        }
      }
      out_.parts[p.part].graph.graph->SetControlInputs(p.node, std::move(control));
    }
    return OkStatus();
  }

  // The twin of a result or target; of several, the one on its own task.
  Twin Find(const Node& node) {
    if (!follows_[node.id()]) return twins_[node.id()];
    const std::vector<Copy>& copies = copies_[node.id()];
    auto own = std::find_if(copies.begin(), copies.end(), [&](const Copy& c) { return c.task == task_[node.id()]; });
    const Copy& copy = own == copies.end() ? copies.front() : *own;
    return {copy.node, part_of_task_[copy.task]};
  }

  void SetResults() {
    for (size_t i = 0; i < whole_.rets.size(); ++i) {
      const Twin twin = Find(*whole_.rets[i].node);
      out_.parts[twin.part].graph.rets.emplace_back(twin.node, whole_.rets[i].index);
      out_.parts[twin.part].ret_numbers.push_back(static_cast<int>(i));
    }
    for (const Node* node : whole_.targets) {
      const Twin twin = Find(*node);
      out_.parts[twin.part].graph.targets.push_back(twin.node);
    }
  }

  PrunedGraph whole_;
  Graph& graph_;
  PartitionedGraph out_;
  std::vector<Node*> order_;
  ControlFlow flow_;
  std::vector<std::string> task_names_;
  std::vector<int> part_of_task_;
  std::vector<int> task_of_part_;
  // By node id.
  std::vector<int> task_;
  std::vector<absl::string_view> device_;
  std::vector<bool> is_arg_;
  std::vector<bool> follows_;
  std::vector<std::vector<Copy>> copies_;
  std::vector<Twin> twins_;
  absl::flat_hash_map<std::pair<int, int>, size_t> copied_;  // (node id, task): index into its copies
  std::vector<Placed> placed_;
};

}  // namespace

StatusOr<PartitionedGraph> PartitionByTask(PrunedGraph pruned) { return Partitioner(std::move(pruned)).Run(); }

}  // namespace millstream
