// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/shape_refiner.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "millstream/graph/node_kind.h"

namespace millstream {

// What is assumed of the shape of a loop variable: that of its initial value, until an iteration was seen to change it.
struct ShapeRefiner::LoopShape {
  const Node* merge;
  int enter, next;  // which inputs
  bool weakened = false;
  PartialShape shape;
};

namespace {

// A type as TensorFlow's messages write it.
std::string AttrText(const AttrValue& value) {
  const DType* type = value.get<DType>();
  return type == nullptr ? value.ToString() : absl::StrCat("DT_", absl::AsciiStrToUpper(DTypeName(*type)));
}

// "{{node Add}} = AddV2[T=DT_FLOAT](x, y)"
std::string Describe(const Node& node) {
  std::vector<std::string> attrs, inputs;
  for (const auto& [name, value] : node.attrs()) {
    if (name[0] != '_') attrs.push_back(absl::StrCat(name, "=", AttrText(value)));
  }
  for (const Output& in : node.inputs()) {
    inputs.push_back(in.index == 0 ? in.node->name() : in.name());
  }
  return absl::StrCat("{{node ", node.name(), "}} = ", node.type(),
                      attrs.empty() ? "" : absl::StrCat("[", absl::StrJoin(attrs, ", "), "]"), "(",
                      absl::StrJoin(inputs, ", "), ")");
}

}  // namespace

ShapeRefiner::Info& ShapeRefiner::InfoOf(const Node& node) {
  if (static_cast<size_t>(node.id()) >= infos_.size()) {
    infos_.resize(std::max<size_t>(node.id() + 1, static_cast<size_t>(graph_.id_limit())));
  }
  return infos_[node.id()];
}

const ShapeRefiner::Info* ShapeRefiner::FindInfo(const Output& output) const {
  if (output.node == nullptr || static_cast<size_t>(output.node->id()) >= infos_.size()) return nullptr;
  const Info& info = infos_[output.node->id()];
  return static_cast<size_t>(output.index) < info.shapes.size() ? &info : nullptr;
}

const PartialValue* ShapeRefiner::FindValue(const Output& output) const {
  const Info* info = FindInfo(output);
  if (info == nullptr || static_cast<size_t>(output.index) >= info->values.size()) return nullptr;
  const PartialValue& value = info->values[output.index];
  return value.known() ? &value : nullptr;
}

Status ShapeRefiner::RunShapeFn(const Node& node, Info* info) const {
  const int n = node.num_inputs();
  std::vector<PartialShape> shapes(n);
  std::vector<const PartialValue*> values(n, nullptr);
  for (int i = 0; i < n; ++i) {
    const Output& in = node.input(i);
    if (in.node == nullptr || (IsMerge(node) && IsNextIteration(*in.node))) continue;
    shapes[i] = shape(in);
    values[i] = FindValue(in);
  }
  ShapeContext c(node.attrs(), shapes, node.num_outputs());
  for (int i = 0; i < n; ++i) {
    if (values[i] != nullptr && values[i]->complete)
      c.set_constant(i, values[i]->tensor);
    else if (values[i] != nullptr)
      c.set_constant_shape(i, ConstantAsShape(node.input(i)));
    const Info* in = FindInfo(node.input(i));
    if (in != nullptr && !in->handle_dtypes.empty()) {
      c.set_input_handle(i, in->handle_shapes[node.input(i).index], in->handle_dtypes[node.input(i).index]);
    }
  }
  if (node.op().shape != nullptr) {
    if (Status s = node.op().shape(c); !s.ok()) {
      std::vector<std::string> inputs;
      for (const PartialShape& in : shapes) inputs.push_back(in.ToString());
      return Status(s.code(), absl::StrCat(s.message(), " for '", Describe(node),
                                           "' with input shapes: ", absl::StrJoin(inputs, ", "), "."));
    }
  }
  info->shapes.resize(node.num_outputs());
  for (int i = 0; i < node.num_outputs(); ++i) {
    info->shapes[i] = c.output(i);
    if (c.output_handle_dtype(i) == DType::kInvalid) continue;
    info->handle_shapes.resize(node.num_outputs());
    info->handle_dtypes.resize(node.num_outputs(), DType::kInvalid);
    info->handle_shapes[i] = c.output_handle_shape(i);
    info->handle_dtypes[i] = c.output_handle_dtype(i);
  }
  info->values = EvaluatePartially(node, values, shapes, info->shapes);
  return OkStatus();
}

Status ShapeRefiner::AddNode(const Node& node) {
  Info info;
  RETURN_IF_ERROR(RunShapeFn(node, &info));
  InfoOf(node) = std::move(info);
  return OkStatus();
}

Status ShapeRefiner::AddInOrder(const std::vector<Node*>& order, const std::vector<LoopShape>& loops) {
  infos_.clear();
  size_t next = 0;  // loops are in the order of their merges
  for (const Node* node : order) {
    RETURN_IF_ERROR(AddNode(*node));
    if (next == loops.size() || loops[next].merge != node) continue;
    const LoopShape& loop = loops[next++];
    const Node* enter = node->input(loop.enter).node;
    SetShape(Output(const_cast<Node*>(node), 0), loop.weakened ? loop.shape : shape(enter->input(0)));
  }
  return OkStatus();
}

// An assumption is kept if the value of the next iteration fits it; parts that do not are dropped.
bool ShapeRefiner::WeakenLoops(std::vector<LoopShape>* loops) const {
  bool changed = false;
  for (LoopShape& loop : *loops) {
    const PartialShape assumed = shape(Output(const_cast<Node*>(loop.merge), 0));
    const PartialShape next = shape(loop.merge->input(loop.next).node->input(0));
    if (!assumed.rank_known()) continue;
    PartialShape weaker = assumed;
    if (next.rank() != assumed.rank()) {
      weaker = PartialShape();
    } else {
      for (int i = 0; i < assumed.rank(); ++i) {
        if (next.dim(i) != assumed.dim(i)) weaker.set_dim(i, -1);
      }
    }
    if (weaker == assumed) continue;
    loop.weakened = changed = true;
    loop.shape = weaker;
  }
  return changed;
}

Status ShapeRefiner::AddAll() {
  ASSIGN_OR_RETURN(std::vector<Node*> order, graph_.TopologicalOrder());
  std::vector<LoopShape> loops;
  for (const Node* node : order) {
    if (!IsMerge(*node) || node->num_inputs() != 2) continue;
    for (int i = 0; i < 2; ++i) {
      const Node *a = node->input(1 - i).node, *b = node->input(i).node;
      if (!IsEnter(*a) || !IsNextIteration(*b) || b->input(0).node == nullptr) continue;
      loops.push_back({node, 1 - i, i, false, {}});
      break;
    }
  }
  constexpr int kMaxRounds = 8;
  for (int round = 0; round < kMaxRounds; ++round) {
    const Status s = AddInOrder(order, loops);
    if (loops.empty()) return s;
    if (!s.ok()) break;  // perhaps for a wrong assumption
    if (!WeakenLoops(&loops)) return OkStatus();
  }
  for (LoopShape& loop : loops) {
    loop.weakened = true;
    loop.shape = PartialShape();
  }
  return AddInOrder(order, loops);
}

Status ShapeRefiner::MergeShape(const Output& output, const PartialShape& with) {
  StatusOr<PartialShape> merged = shape(output).MergeWith(with);
  if (!merged.ok()) return WithContext(merged.status(), output.name());
  SetShape(output, *std::move(merged));
  return OkStatus();
}

void ShapeRefiner::SetShape(const Output& output, PartialShape shape) {
  Info& info = InfoOf(*output.node);
  info.shapes.resize(output.node->num_outputs());
  info.shapes[output.index] = std::move(shape);
}

PartialShape ShapeRefiner::shape(const Output& output) const {
  const Info* info = FindInfo(output);
  return info == nullptr ? PartialShape() : info->shapes[output.index];
}

PartialShape ShapeRefiner::handle_shape(const Output& output) const {
  const Info* info = FindInfo(output);
  return info == nullptr || info->handle_shapes.empty() ? PartialShape() : info->handle_shapes[output.index];
}

DType ShapeRefiner::handle_dtype(const Output& output) const {
  const Info* info = FindInfo(output);
  return info == nullptr || info->handle_dtypes.empty() ? DType::kInvalid : info->handle_dtypes[output.index];
}

bool ShapeRefiner::ConstantValue(const Output& output, Tensor* value, int64_t max_elements) const {
  const PartialValue* found = FindValue(output);
  if (found == nullptr || !found->complete || found->tensor.num_elements() > max_elements) return false;
  *value = found->tensor;
  return true;
}

PartialShape ShapeRefiner::ConstantAsShape(const Output& output) const {
  const PartialValue* value = FindValue(output);
  if (value == nullptr || value->tensor.rank() != 1) {
    const PartialShape s = shape(output);
    if (value == nullptr && s.rank() == 1 && s.dim(0) >= 0 && s.dim(0) <= kMaxRank) {
      return PartialShape::UnknownOfRank(static_cast<int>(s.dim(0)));
    }
    return PartialShape();
  }
  std::vector<int64_t> dims;
  const Tensor& t = value->tensor;
  if (t.dtype() == DType::kInt32)
    dims.assign(t.flat<int32_t>().begin(), t.flat<int32_t>().end());
  else if (t.dtype() == DType::kInt64)
    dims.assign(t.flat<int64_t>().begin(), t.flat<int64_t>().end());
  else
    return PartialShape();
  for (int64_t& d : dims)
    if (d < 0) d = -1;
  StatusOr<PartialShape> made = PartialShape::Make(std::move(dims));
  return made.ok() ? *std::move(made) : PartialShape();
}

}  // namespace millstream
