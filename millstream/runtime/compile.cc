// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/compile.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "millstream/framework/accelerator.h"
#include "millstream/graph/control_flow.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/placement/device_copies.h"
#include "millstream/graph/reserved_attrs.h"
#include "millstream/runtime/plan_frames.h"
#include "millstream/runtime/recorded_steps.h"

namespace millstream {
namespace {

constexpr int32_t kConstantUses = 1 << 28;  // never one: a constant is never forwarded

NodeKind ExecutedAs(const Node& node) {
  switch (KindOf(node)) {
    case OpKind::kSwitch:
    case OpKind::kSwitchN:
      return NodeKind::kSwitch;
    case OpKind::kMerge:
      return NodeKind::kMerge;
    case OpKind::kEnter:
      return IsConstantEnter(node) ? NodeKind::kConstantEnter : NodeKind::kEnter;
    case OpKind::kExit:
      return NodeKind::kExit;
    case OpKind::kNextIteration:
      return NodeKind::kNextIteration;
    case OpKind::kControlTrigger:
      return NodeKind::kControlTrigger;
    case OpKind::kSend:
    case OpKind::kLoopSend:
      return NodeKind::kSend;
    case OpKind::kRecv:
      return NodeKind::kRecv;
    default:
      return NodeKind::kOp;
  }
}

// The other side of the cut may be on a branch not taken.
bool MayReceiveNothing(const Node& node) {
  bool may_be_dead = false;
  return IsA(node, OpKind::kRecv) && node.GetAttr("_may_be_dead", &may_be_dead).ok() && may_be_dead;
}

bool IsBackEdge(const Node& from, const Node& to) { return IsMerge(to) && IsNextIteration(from); }

class Compiler {
 public:
  Compiler(PrunedGraph pruned, const CompileOptions& options)
      : pruned_(std::move(pruned)), graph_(*pruned_.graph), options_(options), plan_(std::make_shared<Plan>()) {}

  StatusOr<std::shared_ptr<const Plan>> Run() {
    RETURN_IF_ERROR(Classify());
    RETURN_IF_ERROR(Order());
    RETURN_IF_ERROR(AddNodes());
    Connect();
    RETURN_IF_ERROR(SetResults());
    if (plan_->control_flow) RETURN_IF_ERROR(PlanFrames(index_, plan_.get()));
    ChooseExecutor();
    plan_->graph = std::move(pruned_.graph);
    return std::shared_ptr<const Plan>(std::move(plan_));
  }

 private:
  // Gives constants and arguments their places; everything else is to be run.
  Status Classify() {
    slot_.assign(static_cast<size_t>(graph_.id_limit()), kNoSlot);
    run_.assign(static_cast<size_t>(graph_.id_limit()), false);
    for (const Node* arg : pruned_.args) {
      slot_[arg->id()] = NewSlots(*arg);
      plan_->arg_slots.push_back(slot_[arg->id()]);
      plan_->arg_types.push_back(RemoveRef(arg->output_type(0)));
    }
    size_t constants = 0;
    for (const auto& node : graph_.nodes()) constants += node != nullptr && IsFreeConstant(*node);
    plan_->constants = std::vector<Entry>(constants);
    size_t next = 0;
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || slot_[node->id()] != kNoSlot) continue;
      if (IsFreeConstant(*node)) {
        Entry& e = plan_->constants[next];
        RETURN_IF_ERROR(node->GetAttr("value", &e.tensor));
        if (node->attrs().Has(kDeviceConstantAttr)) RETURN_IF_ERROR(MoveToDevice(*node, &e.tensor));
        e.uses.store(kConstantUses, std::memory_order_relaxed);
        slot_[node->id()] = -1 - static_cast<int32_t>(next++);
        continue;
      }
      run_[node->id()] = true;
      if (node->IsControlFlow() || IsA(*node, OpKind::kControlTrigger) || MayReceiveNothing(*node))
        plan_->control_flow = true;
    }
    return OkStatus();
  }

  Status MoveToDevice(const Node& node, Tensor* value) {
    Device* const device = options_.find_device(node.assigned_device());
    Accelerator* const accelerator = device == nullptr ? nullptr : AsAccelerator(device);
    if (accelerator == nullptr) return OkStatus();
    const Tensor from = *value;
    ASSIGN_OR_RETURN(*value, accelerator->AllocateTensor(from.dtype(), from.shape()));
    accelerator->CopyFromHost(from, value, [from](const Status&) {});
    return OkStatus();
  }

  int32_t NewSlots(const Node& node) {
    const int32_t first = plan_->num_slots;
    plan_->num_slots += node.num_outputs();
    plan_->slot_types.insert(plan_->slot_types.end(), node.output_types().begin(), node.output_types().end());
    plan_->slot_uses.resize(static_cast<size_t>(plan_->num_slots), 0);
    return first;
  }

  // Topological order, depth first, so that values are used while they are in cache; updates as late as possible, so
  // that they find no reader and need no copy.
  Status Order() {
    std::vector<int32_t> pending(static_cast<size_t>(graph_.id_limit()), 0);
    std::vector<int32_t> offset(static_cast<size_t>(graph_.id_limit()) + 1, 0);
    const auto for_edges = [&](auto&& fn) {
      for (const auto& node : graph_.nodes()) {
        if (node == nullptr || !run_[node->id()]) continue;
        for (const Output& in : node->inputs()) {
          if (run_[in.node->id()] && !IsBackEdge(*in.node, *node)) fn(in.node->id(), node->id());
        }
        for (const Node* in : node->control_inputs())
          if (run_[in->id()]) fn(in->id(), node->id());
      }
    };
    for_edges([&](int from, int to) {
      ++offset[from + 1];
      ++pending[to];
    });
    for (size_t i = 1; i < offset.size(); ++i) offset[i] += offset[i - 1];
    std::vector<int32_t> targets(static_cast<size_t>(offset.back())), fill(offset.begin(), offset.end() - 1);
    for_edges([&](int from, int to) { targets[fill[from]++] = to; });

    std::vector<int32_t> now, late;
    const auto push = [&](int id) { (graph_.nodes()[id]->op().Has(OpTrait::kUpdates) ? late : now).push_back(id); };
    for (int id = graph_.id_limit() - 1; id >= 0; --id)
      if (run_[id] && pending[id] == 0) push(id);
    size_t expected = 0;
    for (const bool r : run_) expected += r;
    order_.reserve(expected);
    while (!now.empty() || !late.empty()) {
      std::vector<int32_t>& from = now.empty() ? late : now;
      const int32_t id = from.back();
      from.pop_back();
      order_.push_back(id);
      for (int32_t e = offset[id + 1] - 1; e >= offset[id]; --e)
        if (--pending[targets[e]] == 0) push(targets[e]);
    }
    if (order_.size() != expected) {
      return errors::InvalidArgument(expected - order_.size(), " nodes in a cycle");
    }
    return OkStatus();
  }

  // Arrays that grow by doubling would need three times their size for a moment.
  void Reserve() {
    size_t inputs = 0, outputs = static_cast<size_t>(plan_->num_slots);
    for (const int32_t id : order_) {
      inputs += graph_.nodes()[id]->inputs().size();
      outputs += graph_.nodes()[id]->output_types().size();
    }
    plan_->nodes.reserve(order_.size());
    plan_->kernels.reserve(order_.size());
    plan_->inputs.reserve(inputs);
    plan_->reads_reference.reserve(inputs);
    plan_->slot_types.reserve(outputs);
    plan_->slot_uses.reserve(outputs);
  }

  Status AddNodes() {
    index_.assign(static_cast<size_t>(graph_.id_limit()), -1);
    Reserve();
    for (const int32_t id : order_) {
      const Node& node = *graph_.nodes()[id];
      index_[id] = static_cast<int32_t>(plan_->nodes.size());
      plan_->nodes.emplace_back();
      RETURN_IF_ERROR(FillNode(node, &plan_->nodes.back()));
      slot_[id] = plan_->nodes.back().outputs;
    }
    return OkStatus();
  }

  Status FillNode(const Node& node, PlanNode* item) {
    if (node.num_inputs() > UINT16_MAX || node.num_outputs() > UINT16_MAX) {
      return errors::InvalidArgument("{{node ", node.name(), "}} has too many inputs or outputs");
    }
    item->node = &node;
    item->device = options_.find_device(node.assigned_device());
    if (item->device == nullptr) {
      return errors::InvalidArgument("{{node ", node.name(), "}}: no device '", node.assigned_device(), "' here");
    }
    ASSIGN_OR_RETURN(const KernelDef* def,
                     FindKernel(node.op(), item->device->attributes().type, node.attrs(), node.name()));
    ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, options_.kernels->Get(node, item->device, *def, options_.owner));
    if (options_.wrap != nullptr) kernel = options_.wrap(node, std::move(kernel));
    item->kernel = kernel.get();
    if (def->async) item->async = static_cast<AsyncKernel*>(kernel.get());
    plan_->has_async |= def->async;
    plan_->kernels.push_back(std::move(kernel));
    item->expensive = def->expensive;
    item->kind = ExecutedAs(node);
    item->update = node.op().Has(OpTrait::kUpdates);
    item->may_block = node.op().Has(OpTrait::kMayBlock);
    item->commits = node.attrs().Has(kCommitsStepAttr);
    item->num_inputs = static_cast<uint16_t>(node.num_inputs());
    item->num_outputs = static_cast<uint16_t>(node.num_outputs());
    item->outputs = NewSlots(node);
    ASSIGN_OR_RETURN(std::vector<DType> declared, node.InputTypes());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& in = node.input(i);
      const bool reads = IsRef(in.node->output_type(in.index)) && !IsRef(declared[i]);
      plan_->reads_reference.push_back(reads);  // nodes are filled and connected in the same order
      item->has_ref_inputs |= reads;
    }
    return OkStatus();
  }

  // Inputs, consumers and counts, once every node has its place.
  void Connect() {
    std::vector<int32_t> producers;  // of all nodes, one after the other
    producers.reserve(plan_->inputs.capacity());
    std::vector<int32_t> mine;
    for (PlanNode& item : plan_->nodes) {
      const Node& node = *item.node;
      item.inputs = static_cast<int32_t>(plan_->inputs.size());
      mine.clear();
      for (const Output& in : node.inputs()) {
        const int32_t slot = slot_[in.node->id()];
        plan_->inputs.push_back(slot < 0 ? slot : slot + in.index);
        if (slot >= 0) ++plan_->slot_uses[slot + in.index];
        if (index_[in.node->id()] >= 0) mine.push_back(index_[in.node->id()]);
      }
      for (const Node* in : node.control_inputs()) {
        if (index_[in->id()] >= 0) mine.push_back(index_[in->id()]);
      }
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      item.pending = static_cast<uint32_t>(mine.size());
      if (mine.empty()) plan_->roots.push_back(static_cast<int32_t>(&item - plan_->nodes.data()));
      for (const int32_t p : mine) ++plan_->nodes[p].num_consumers;
      producers.insert(producers.end(), mine.begin(), mine.end());
    }
    SetConsumers(producers);
  }

  // `producers`: those of each node, as many as its `pending`.
  void SetConsumers(const std::vector<int32_t>& producers) {
    int32_t next = 0;
    for (PlanNode& item : plan_->nodes) {
      item.consumers = next;
      next += item.num_consumers;
      item.num_consumers = 0;
    }
    plan_->consumers.resize(static_cast<size_t>(next));
    const int32_t* p = producers.data();
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      for (uint32_t k = 0; k < plan_->nodes[i].pending; ++k) {
        PlanNode& from = plan_->nodes[*p++];
        plan_->consumers[from.consumers + from.num_consumers++] = static_cast<int32_t>(i);
      }
    }
  }

  Status SetResults() {
    for (const Output& out : pruned_.rets) {
      plan_->ret_types.push_back(out.dtype());
      const int32_t slot = slot_[out.node->id()];
      if (slot < 0) {
        plan_->ret_slots.push_back(slot);
        continue;
      }
      if (index_[out.node->id()] < 0) {  // an argument handed straight through
        auto it = std::find(pruned_.args.begin(), pruned_.args.end(), out.node);
        plan_->ret_slots.push_back(Plan::kArgResult + static_cast<int32_t>(it - pruned_.args.begin()));
        continue;
      }
      plan_->ret_slots.push_back(slot + out.index);
      ++plan_->slot_uses[slot + out.index];
      plan_->nodes[index_[out.node->id()]].fetched = true;
    }
    // Arguments that nobody reads need no slot.
    for (int32_t& slot : plan_->arg_slots)
      if (plan_->slot_uses[slot] == 0 && !plan_->control_flow) slot = -1;
    return OkStatus();
  }

  // Ops split themselves over the pool; running them side by side as well pays only with more threads than that uses,
  // or where an op may wait.
  void ChooseExecutor() {
    if (options_.has_accelerators) {
      if (auto roles = internal::FindRoles(*plan_)) {
        plan_->recorded = std::make_unique<RecordedSteps>(*std::move(roles));
        return;
      }
    }
    if (plan_->control_flow || plan_->has_async) return;
    int expensive = 0;
    for (const PlanNode& node : plan_->nodes) expensive += node.expensive;
    plan_->serial = options_.inter_op_threads <= 2 || expensive < 2;
  }

  static constexpr int32_t kNoSlot = INT32_MIN;
  PrunedGraph pruned_;
  Graph& graph_;
  const CompileOptions& options_;
  std::shared_ptr<Plan> plan_;
  std::vector<int32_t> slot_;   // by node id: first slot, or -1 - constant
  std::vector<bool> run_;       // by node id
  std::vector<int32_t> order_;  // node ids
  std::vector<int32_t> index_;  // by node id: index in the plan, or -1
};

}  // namespace

StatusOr<std::shared_ptr<const Plan>> Compile(PrunedGraph pruned, const CompileOptions& options) {
  if (options.has_accelerators) RETURN_IF_ERROR(AddDeviceCopies(options.find_device, &pruned));
  return Compiler(std::move(pruned), options).Run();
}

}  // namespace millstream
