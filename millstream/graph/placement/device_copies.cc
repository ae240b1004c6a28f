// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/device_copies.h"

#include <map>
#include <tuple>

#include "millstream/framework/device_kernels.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/reserved_attrs.h"

namespace millstream {
namespace {

// The name of the device whose memory it is; "": the host's.
using Memory = absl::string_view;

class CopyAdder {
 public:
  CopyAdder(const std::function<Device*(absl::string_view)>& find_device, PrunedGraph* pruned)
      : find_device_(find_device), pruned_(*pruned), graph_(*pruned->graph) {}

  Status Run() {
    std::vector<Node*> nodes;  // those that are there before copies are added
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr) nodes.push_back(node.get());
    }
    memory_.resize(static_cast<size_t>(graph_.id_limit()));
    KeepLoopsTogether(nodes);
    for (const Node* node : nodes) RETURN_IF_ERROR(FindMemory(*node));
    for (Node* node : nodes) RETURN_IF_ERROR(Feed(node));
    for (Output& ret : pruned_.rets) {
      ASSIGN_OR_RETURN(ret, InMemory(ret, ""));
    }
    return OkStatus();
  }

 private:
  struct NodeMemory {
    std::vector<bool> device_inputs, device_outputs;  // empty: all on the host
  };

  // The edge from NextIteration back to Merge must stay as it is: executors know loops by it.
  void KeepLoopsTogether(const std::vector<Node*>& nodes) {
    for (Node* node : nodes) {
      if (!IsMerge(*node)) continue;
      for (const Output& in : node->inputs()) {
        if (IsNextIteration(*in.node)) in.node->set_assigned_device(node->assigned_device());
      }
    }
  }

  Status FindMemory(const Node& node) {
    Device* const device = find_device_(node.assigned_device());
    if (device == nullptr) {
      return errors::InvalidArgument("{{node ", node.name(), "}}: no device '", node.assigned_device(), "' here");
    }
    if (device->IsHostMemory() || IsA(node, OpKind::kArg)) return OkStatus();
    ASSIGN_OR_RETURN(const KernelDef* kernel,
                     FindKernel(node.op(), device->attributes().type, node.attrs(), node.name()));
    ASSIGN_OR_RETURN(ArgMemory host, MemoryOfArgs(node.op().def, *kernel, node.attrs()));
    host.host_inputs.flip();
    host.host_outputs.flip();
    memory_[node.id()] = {std::move(host.host_inputs), std::move(host.host_outputs)};
    return OkStatus();
  }

  Memory OutputMemory(const Output& out) const {
    const std::vector<bool>& device = memory_[out.node->id()].device_outputs;
    return !device.empty() && device[out.index] ? out.node->assigned_device() : Memory();
  }
  Memory InputMemory(const Node& node, int i) const {
    const std::vector<bool>& device = memory_[node.id()].device_inputs;
    return !device.empty() && device[i] ? node.assigned_device() : Memory();
  }

  Status Feed(Node* node) {
    ASSIGN_OR_RETURN(const std::vector<DType> declared, node->InputTypes());
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output in = node->input(i);
      const Memory wanted = InputMemory(*node, i);
      if (OutputMemory(in) == wanted) continue;
      if (IsRef(declared[i])) {
        return errors::InvalidArgument("{{node ", node->name(), "}} on ", node->assigned_device(),
                                       " takes a reference to a variable on ", in.node->assigned_device());
      }
      const bool reads_reference = IsRef(in.node->output_type(in.index)) && !node->control_inputs().empty();
      ASSIGN_OR_RETURN(const Output copy, reads_reference ? ReadFor(*node, in, wanted) : InMemory(in, wanted));
      graph_.SetInput(node, i, copy);
    }
    return OkStatus();
  }

  // The value in that memory: itself, or a copy, of which there is one.
  StatusOr<Output> InMemory(const Output& value, Memory wanted) {
    const Memory now = OutputMemory(value);
    if (now == wanted) return value;
    auto [known, is_new] = copies_.try_emplace({value.node->id(), value.index, std::string(wanted)});
    if (!is_new) return known->second;
    StatusOr<Output> copy = wanted.empty() ? Add("_CopyToHost", value, now, false) : ToDevice(value, wanted);
    if (!copy.ok()) return copy.status();
    known->second = *copy;
    return *copy;
  }

  // A reference is read when its reader runs: after what the reader waits for, so the copy is the reader's own.
  StatusOr<Output> ReadFor(const Node& reader, const Output& reference, Memory wanted) {
    const Memory now = OutputMemory(reference);
    Output copy = reference;
    if (!now.empty()) {
      ASSIGN_OR_RETURN(copy, Add("_CopyToHost", reference, now, false));
      graph_.SetControlInputs(copy.node, reader.control_inputs());
    }
    if (wanted.empty()) return copy;
    ASSIGN_OR_RETURN(copy, Add("_CopyToDevice", copy, wanted, true));
    if (now.empty()) graph_.SetControlInputs(copy.node, reader.control_inputs());
    return copy;
  }

  StatusOr<Output> ToDevice(const Output& value, Memory device) {
    if (!IsFreeConstant(*value.node)) {
      ASSIGN_OR_RETURN(const Output on_host, InMemory(value, ""));  // from another device: by way of the host
      return Add("_CopyToDevice", on_host, device, true);
    }
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(value.node->name() + "/_on_device");
    spec.op = &value.node->op();
    spec.attrs = value.node->attrs();
    spec.attrs.Set(kDeviceConstantAttr, true);
    return AddOn(std::move(spec), device, true);
  }

  StatusOr<Output> Add(const char* op, const Output& value, Memory device, bool to_device) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(value.node->name(), "/", op));
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(op));
    spec.attrs.Set("T", value.dtype());
    spec.inputs = {value};
    return AddOn(std::move(spec), device, to_device);
  }

  StatusOr<Output> AddOn(Graph::NodeSpec spec, Memory device, bool to_device) {
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
    node->set_assigned_device(device);
    memory_.resize(static_cast<size_t>(graph_.id_limit()));
    if (to_device) memory_[node->id()].device_outputs = {true};
    return Output(node, 0);
  }

  const std::function<Device*(absl::string_view)>& find_device_;
  PrunedGraph& pruned_;
  Graph& graph_;
  std::vector<NodeMemory> memory_;  // by node id
  std::map<std::tuple<int, int, std::string>, Output> copies_;
};

}  // namespace

Status AddDeviceCopies(const std::function<Device*(absl::string_view)>& find_device, PrunedGraph* graph) {
  return CopyAdder(find_device, graph).Run();
}

}  // namespace millstream
