// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/fused/member_kernels.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

constexpr int32_t kShared = 1 << 28;  // uses of a value that no member may take over

}  // namespace

StatusOr<std::unique_ptr<MemberKernels>> MemberKernels::Make(const FusedBody& body, absl::string_view device_type,
                                                             const KernelInit& init) {
  auto made = std::make_unique<MemberKernels>();
  absl::flat_hash_map<const Node*, int> first;  // place of each node's first output
  for (const Node* arg : body.args) first[arg] = made->num_values_++;
  for (const Node* node : body.members) {
    const absl::string_view name = NameOfMember(*node);
    Member member{node, std::string(name.empty() ? node->name() : name), nullptr, {}, {}, made->num_values_};
    first[node] = made->num_values_;
    made->num_values_ += node->num_outputs();
    std::vector<DType> input_types;
    for (const Output& in : node->inputs()) {
      member.inputs.push_back(first.at(in.node) + in.index);
      input_types.push_back(in.dtype());
    }
    if (IsA(*node, OpKind::kConst)) {
      RETURN_IF_ERROR(node->GetAttr("value", &member.value));
    } else {
      ASSIGN_OR_RETURN(const KernelDef* def, FindKernel(node->op(), device_type, node->attrs(), node->name()));
      KernelInit member_init(node->op().def, node->name(), node->attrs(), init.device(), init.resources(),
                             init.functions(), std::move(input_types), node->output_types());
      ASSIGN_OR_RETURN(member.kernel, def->factory(member_init));
    }
    made->members_.push_back(std::move(member));
  }
  for (const Output& result : body.results) made->results_.push_back(first.at(result.node) + result.index);
  made->CountUses(body.args.size());
  return made;
}

// Arguments, constants and results are never the last use of a member; what members make for each other may be.
void MemberKernels::CountUses(size_t num_args) {
  uses_.assign(static_cast<size_t>(num_values_), 0);
  for (const Member& member : members_) {
    for (const int place : member.inputs) ++uses_[static_cast<size_t>(place)];
    if (member.kernel == nullptr) uses_[static_cast<size_t>(member.first_output)] = kShared;
  }
  std::fill_n(uses_.begin(), num_args, kShared);
  for (const int place : results_) uses_[static_cast<size_t>(place)] = kShared;
}

Status MemberKernels::Run(KernelContext& ctx) const {
  Values values(static_cast<size_t>(num_values_));
  for (int i = 0; i < ctx.num_inputs(); ++i) values[static_cast<size_t>(i)].tensor = ctx.input(i);
  for (size_t i = 0; i < values.size(); ++i) values[i].uses.store(uses_[i], std::memory_order_relaxed);
  for (const Member& member : members_) {
    if (member.kernel == nullptr) {
      values[static_cast<size_t>(member.first_output)].tensor = member.value;
      continue;
    }
    RETURN_IF_ERROR(RunMember(ctx, member, &values));
    for (const int place : member.inputs) {
      Entry& value = values[static_cast<size_t>(place)];
      if (value.uses.fetch_sub(1, std::memory_order_relaxed) == 1) value.tensor.Reset();
    }
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    ctx.set_output(static_cast<int>(i), values[static_cast<size_t>(results_[i])].tensor);
  }
  return OkStatus();
}

Status MemberKernels::RunMember(KernelContext& ctx, const Member& member, Values* values) const {
  absl::InlinedVector<Entry*, 8> inputs;
  for (const int place : member.inputs) inputs.push_back(&(*values)[static_cast<size_t>(place)]);
  KernelContext::Frame frame;
  frame.step = &ctx.step();
  frame.device = ctx.device();
  frame.op = &member.node->op().def;
  frame.node_name = &member.name;
  frame.inputs = inputs.data();
  frame.derefs = nullptr;
  frame.num_inputs = static_cast<int>(inputs.size());
  frame.outputs = values->data() + member.first_output;
  frame.output_types = member.node->output_types().data();
  frame.num_outputs = member.node->num_outputs();
  frame.frame_iter = ctx.frame_iter();
  frame.tag = ctx.tag();
  KernelContext inner(frame);
  Status status = member.kernel->Compute(inner);
  if (status.ok() || NameOfMember(*member.node).empty()) return status;
  return Status(status.code(), absl::StrCat(status.message(), "\n\t [[{{node ", member.name, "}}]]"));
}

StatusOr<std::vector<PartialShape>> FusedShapes(const FusedBody& body, const std::vector<PartialShape>& args) {
  ShapeRefiner refiner(*body.graph);
  for (size_t i = 0; i < body.args.size(); ++i) {
    RETURN_IF_ERROR(refiner.AddNode(*body.args[i]));
    refiner.SetShape(Output(body.args[i]), args[i]);
  }
  for (const Node* member : body.members) RETURN_IF_ERROR(refiner.AddNode(*member));
  std::vector<PartialShape> shapes;
  for (const Output& result : body.results) shapes.push_back(refiner.shape(result));
  return shapes;
}

}  // namespace millstream
