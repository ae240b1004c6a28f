// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fusion/element_program.h"

#include <map>

#include "millstream/graph/node_kind.h"

namespace millstream::cuda {
namespace {

class ProgramMaker {
 public:
  explicit ProgramMaker(const FusedBody& body) : body_(body) {
    for (size_t i = 0; i < body.args.size(); ++i) args_[body.args[i]] = static_cast<int>(i);
  }

  StatusOr<ElementProgram> Make() {
    for (const Node* node : body_.members) {
      const ElementOp* const op = FindElementOp(node->type());
      if (op == nullptr || !IsComputed(*op)) continue;
      for (const Output& in : node->inputs()) RETURN_IF_ERROR(AddLoad(in));
    }
    for (const Output& result : body_.results) {
      const ElementOp* const op = FindElementOp(result.node->type());
      if (op == nullptr || op->role != ElementRole::kConcat) continue;
      for (int i = 0; i + 1 < result.node->num_inputs(); ++i) RETURN_IF_ERROR(AddLoad(result.node->input(i)));
    }
    for (const Node* node : body_.members) {
      const ElementOp* const op = FindElementOp(node->type());
      if (op != nullptr && IsComputed(*op)) RETURN_IF_ERROR(AddStep(*node, *op));
    }
    for (size_t i = 0; i < body_.results.size(); ++i) RETURN_IF_ERROR(AddStores(static_cast<int>(i)));
    return std::move(program_);
  }

 private:
  static bool IsComputed(const ElementOp& op) {
    return op.role == ElementRole::kFormula || op.role == ElementRole::kSum;
  }
  static bool IsPart(const ElementOp* op) {
    return op != nullptr && (op->role == ElementRole::kSplit || op->role == ElementRole::kSlice);
  }
  using Key = std::pair<const Node*, int>;

  Status AddLoad(const Output& from) {
    const Key key{from.node, from.index};
    const ElementOp* const op = FindElementOp(from.node->type());
    if (values_.count(key) > 0 || (op != nullptr && IsComputed(*op))) return OkStatus();
    ElementProgram::Load load{0, nullptr, from.index, from.dtype()};
    const Node* source = from.node;
    if (IsPart(op)) {
      load.part = source;
      source = source->input(op->role == ElementRole::kSplit ? 1 : 0).node;
    }
    const auto arg = args_.find(source);
    if (arg == args_.end()) return errors::InvalidArgument("a fused node cannot read ", from.node->type());
    load.arg = arg->second;
    values_[key] = static_cast<int>(program_.loads.size());
    program_.loads.push_back(load);
    return OkStatus();
  }

  Status AddStep(const Node& node, const ElementOp& op) {
    ElementProgram::Step step{&node, &op, {}, {}, node.output_type(0)};
    for (const Output& in : node.inputs()) {
      step.operands.push_back(values_.at({in.node, in.index}));
      step.operand_types.push_back(in.dtype());
    }
    values_[{&node, 0}] = static_cast<int>(program_.loads.size() + program_.steps.size());
    program_.steps.push_back(std::move(step));
    return OkStatus();
  }

  Status AddStores(int result) {
    const Output& from = body_.results[static_cast<size_t>(result)];
    const ElementOp* const op = FindElementOp(from.node->type());
    if (op != nullptr && op->role == ElementRole::kConcat) {
      for (int i = 0; i + 1 < from.node->num_inputs(); ++i) {
        const Output& in = from.node->input(i);
        program_.stores.push_back({result, values_.at({in.node, in.index}), from.node, i, from.dtype()});
      }
      return OkStatus();
    }
    const auto value = values_.find({from.node, from.index});
    if (value == values_.end()) return errors::InvalidArgument("a fused node cannot give ", from.node->type());
    program_.stores.push_back({result, value->second, nullptr, 0, from.dtype()});
    return OkStatus();
  }

  const FusedBody& body_;
  std::map<const Node*, int> args_;
  std::map<Key, int> values_;
  ElementProgram program_;
};

}  // namespace

StatusOr<ElementProgram> MakeElementProgram(const FusedBody& body) { return ProgramMaker(body).Make(); }

int KernelForm::NumNumbers() const {
  int n = rank;  // u[0] and all dimensions but the first
  for (const Reach reach : loads) n += NumSteps(reach);
  for (const Reach reach : stores) n += NumSteps(reach);
  return n;
}

}  // namespace millstream::cuda
