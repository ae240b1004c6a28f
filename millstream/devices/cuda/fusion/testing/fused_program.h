// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_FUSION_TESTING_FUSED_PROGRAM_H_
#define MILLSTREAM_DEVICES_CUDA_FUSION_TESTING_FUSED_PROGRAM_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "millstream/devices/cuda/fusion/element_layout.h"
#include "millstream/framework/element_ops.h"
#include "millstream/graph/scope.h"

namespace millstream::cuda {

// A body that is built op by op.
class Body {
 public:
  Output Arg(DType dtype = DType::kFloat) {
    const Output arg = scope_.WithOpName(absl::StrCat("a", args_.size())).Op("Placeholder", {}, {{"dtype", dtype}});
    args_.push_back(arg.node);
    return arg;
  }
  Scope& scope() { return scope_; }
  FusedBody Finish(const std::vector<Output>& results) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    FusedBody body;
    body.graph = scope_.graph()->Clone();
    for (const Node* arg : args_) body.args.push_back(body.graph->Find(arg->name()));
    for (const auto& node : body.graph->nodes()) {
      if (!node->Is("Placeholder")) body.members.push_back(node.get());
    }
    for (const Output& result : results) body.results.emplace_back(body.graph->Find(result.node->name()), result.index);
    return body;
  }

 private:
  Scope scope_ = Scope::Root();
  std::vector<Node*> args_;
};

inline ElementLayout::Launch LaunchOf(const FusedBody& body, const ElementProgram& program,
                                      const std::vector<Shape>& shapes) {
  const std::optional<ElementLayout> layout = ElementLayout::Make(program, body, shapes);
  EXPECT_TRUE(layout.has_value());
  // Aligned places that nobody reads.
  std::vector<const void*> args;
  std::vector<void*> results;
  for (size_t i = 0; i < shapes.size(); ++i) args.push_back(reinterpret_cast<void*>((i + 1) << 32));
  for (size_t i = 0; i < body.results.size(); ++i) results.push_back(reinterpret_cast<void*>((i + 101) << 32));
  return layout->At(program, args, results);
}

inline constexpr DType kFusedTypes[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kBool};

inline bool Takes(const OpEntry& op, const char* attr, DType type) {
  const AttrDef* const def = op.def.FindAttr(attr);
  if (def == nullptr) return false;
  const auto& allowed = def->allowed_types;
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}

// A body with an op of each formula that takes this type, all of them read from memory and written to it.
class AllFormulas {
 public:
  // `broadcasting`: only formulas whose operands may have different shapes.
  explicit AllFormulas(DType type, bool broadcasting = false) : type_(type), broadcasting_(broadcasting) {
    for (int i = 0; i < 3; ++i) args_.push_back(body_.Arg(type));
    condition_ = type == DType::kBool ? args_[0] : body_.Arg(DType::kBool);
    for (const OpEntry* op : OpRegistry::Global().Sorted()) {
      const ElementOp* const element = FindElementOp(op->def.name);
      if (element == nullptr || element->role != ElementRole::kFormula) continue;
      if (!broadcasting_ || element->broadcasts) Add(*op);
    }
    if (type != DType::kBool && !broadcasting_)
      results_.push_back(body_.scope().Op("AddN", {args_[0], args_[1], args_[2]}, {{"N", 3}}));
  }
  FusedBody Finish() { return body_.Finish(results_); }
  size_t num_ops() const { return results_.size(); }
  std::vector<DType> arg_types() const {
    return type_ == DType::kBool ? std::vector<DType>(3, type_) : std::vector<DType>{type_, type_, type_, DType::kBool};
  }
  size_t num_args() const { return arg_types().size(); }

 private:
  void Add(const OpEntry& op) {
    const std::string& name = op.def.name;
    if (name == "Cast") return AddCasts();
    std::vector<Output> inputs;
    size_t values = 0;  // the first one has the shape of the result
    for (const ArgDef& arg : op.def.inputs) {
      if (arg.type == DType::kBool) {
        inputs.push_back(condition_);
      } else if (Takes(op, arg.type_attr.c_str(), type_)) {
        inputs.push_back(args_[values++]);
      } else {
        return;
      }
    }
    if (op.def.FindAttr("T") == nullptr && type_ != DType::kBool) return;  // LogicalAnd, once
    AttrMap attrs;
    attrs.Set("T", type_);
    if (FindKernel(op, "CPU", attrs, name).ok()) results_.push_back(body_.scope().Op(name, inputs));
  }
  void AddCasts() {
    for (const DType to : kFusedTypes) {
      if (to != type_) results_.push_back(body_.scope().Op("Cast", {args_[0]}, {{"DstT", to}}));
    }
  }

  const DType type_;
  const bool broadcasting_;
  Body body_;
  std::vector<Output> args_, results_;
  Output condition_;
};

// The element-wise part of an LSTM's step: gates [batch, 4 * units], a bias of the forget gate, the state; results are
// the next state, the output, and both side by side.
inline FusedBody LstmCell() {
  Body body;
  Scope& s = body.scope();
  const Output gates = body.Arg(), bias = body.Arg(), state = body.Arg();
  Node* const split = s.Add("Split", {s.Const<int32_t>(1), gates}, {{"num_split", 4}});
  const Output kept = s.Op("Mul", {state, s.Op("Sigmoid", {s.Op("AddV2", {Output(split, 2), bias})})});
  const Output added = s.Op("Mul", {s.Op("Sigmoid", {Output(split, 0)}), s.Op("Tanh", {Output(split, 1)})});
  const Output next = s.Op("AddV2", {kept, added});
  const Output out = s.Op("Mul", {s.Op("Tanh", {next}), s.Op("Sigmoid", {Output(split, 3)})});
  return body.Finish({next, out, s.Op("ConcatV2", {out, next, s.Const<int32_t>(1)})});
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_FUSION_TESTING_FUSED_PROGRAM_H_
