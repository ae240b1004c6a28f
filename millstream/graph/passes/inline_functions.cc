// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <unordered_set>

#include "millstream/framework/device_name.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/body_copy.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

constexpr int kMaxDepth = 16;            // of calls within bodies
constexpr int kMaxNodesAdded = 1 << 17;  // functions that call others twice grow fast

bool FitsDevice(const Node& node, const DeviceName& device) {
  if (node.device().empty()) return true;
  const StatusOr<DeviceName> wanted = DeviceName::Parse(node.device());
  return wanted.ok() && wanted->Matches(device);
}

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
      NameAttrList function;
      if (!call.node->GetAttr("f", &function).ok() || IsWithin(function.name, call.around)) continue;
      const std::optional<FunctionBody> body = BodyOf(*call.node, function);
      if (body && graph_.num_nodes() + body->graph->num_nodes() < limit) {
        bodies_.push_back({function.name, call.around});
        RETURN_IF_ERROR(Inline(call, *body));
      }
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
    int around;  // the body that it is in: an index of bodies_, or -1
  };
  // A body that was put in the place of a call.
  struct Inlined {
    std::string function;
    int around;
  };

  // A function that calls itself would fill the plan with copies, and would still be called by the last of them.
  bool IsWithin(const std::string& function, int body) const {
    for (; body >= 0; body = bodies_[body].around) {
      if (bodies_[body].function == function) return true;
    }
    return false;
  }

  void Note(const std::vector<std::unique_ptr<Node>>& nodes) {
    for (const auto& node : nodes)
      if (node != nullptr) Note(node.get(), 0, -1);
    for (Node* node : part_.targets) waited_for_.insert(node);
  }

  void Note(Node* node, int depth, int around) {
    branching_ |= node->IsControlFlow();
    NoteWaits(*node);
    if (IsA(*node, OpKind::kCall) && depth < kMaxDepth) calls_.push_back({node, depth, around});
  }

  void NoteWaits(const Node& node) {
    for (const Node* in : node.control_inputs()) waited_for_.insert(in);
  }

  // Nothing if the call should stay.
  std::optional<FunctionBody> BodyOf(const Node& call, const NameAttrList& function) const {
    const StatusOr<DeviceName> device = DeviceName::Parse(call.assigned_device());
    if (!device.ok()) return std::nullopt;
    std::vector<DType> arg_types;
    for (const Output& in : call.inputs()) arg_types.push_back(in.dtype());
    std::optional<FunctionBody> body = FindBodyToCopy(*graph_.library(), function, arg_types, call.output_types());
    if (!body) return std::nullopt;
    for (const auto& node : body->graph->nodes()) {
      if (node != nullptr && !IsArgOrRetval(*node) && !FitsDevice(*node, *device)) return std::nullopt;
    }
    return body;
  }

  Status Inline(const Call& call, const FunctionBody& body) {
    BodyCopy copy(&graph_,
                  {.name = call.node->name(),
                   .device = call.node->device(),
                   .assigned_device = call.node->assigned_device(),
                   .control_inputs = call.node->control_inputs(),
                   .branching = branching_},
                  body);
    std::vector<Output> args = call.node->inputs();
    for (Output& arg : args) arg = replaced_.Resolve(arg);
    RETURN_IF_ERROR(copy.Run(args));
    RETURN_IF_ERROR(copy.Finish(waited_for_.contains(call.node)));
    for (Node* twin : copy.twins())
      if (twin != nullptr) Note(twin, call.depth + 1, static_cast<int>(bodies_.size()) - 1);
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
  std::vector<Inlined> bodies_;
  std::unordered_set<const Node*> waited_for_;
  std::vector<Node*> inlined_;
  Replacements replaced_;
};

}  // namespace

Status InlineFunctions(PrunedGraph* part) { return FunctionInliner(part).Run(); }

}  // namespace millstream
