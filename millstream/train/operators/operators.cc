// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/operators/operators.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

// The argument that each input belongs to, and the name of a constant there: "y", or "values_1" in a list.
struct Slot {
  const ArgDef* arg;
  std::string name;
};

std::vector<Slot> SlotsOf(const OpDef& op, size_t num_inputs) {
  const auto is_list = [](const ArgDef& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); };
  const auto lists = static_cast<size_t>(std::count_if(op.inputs.begin(), op.inputs.end(), is_list));
  const size_t in_lists = num_inputs - std::min(num_inputs, op.inputs.size() - lists);
  std::vector<Slot> slots;
  for (const ArgDef& arg : op.inputs) {
    if (!is_list(arg)) slots.push_back({&arg, arg.name});
    for (size_t i = 0; is_list(arg) && i < in_lists / lists; ++i) {
      slots.push_back({&arg, absl::StrCat(arg.name, "_", i)});
    }
  }
  return slots;
}

// The type that a number gets as this argument: the argument's own, else that of the first input that shares its
// attribute, else the attribute's default, else float.
DType TypeFor(const OpDef& op, const ArgDef& arg, const std::vector<Slot>& slots, const std::vector<Operand>& inputs) {
  if (arg.type_attr.empty()) return arg.type == DType::kInvalid ? DType::kFloat : arg.type;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].arg->type_attr == arg.type_attr && inputs[i].dtype().has_value()) return *inputs[i].dtype();
  }
  const AttrDef* attr = op.FindAttr(arg.type_attr);
  const DType* standard = attr == nullptr ? nullptr : attr->default_value.get<DType>();
  return standard == nullptr ? DType::kFloat : *standard;
}

Tensor SizesOf(const PartialShape& shape) {
  std::vector<int32_t> sizes;
  for (int d = 0; d < shape.rank(); ++d) sizes.push_back(static_cast<int32_t>(shape.dim(d)));
  return Tensor::Vector(sizes);
}

}  // namespace

std::optional<DType> Operand::dtype() const {
  if (variable_) return TypeOf(variable_);
  if (value_.has_value()) return value_->dtype();
  return output_ ? std::optional<DType>(output_.dtype()) : std::nullopt;
}

Output Operand::ToOutput(const Scope& scope, absl::string_view name, DType dtype) const {
  if (output()) return output();
  if (variable_) return UseVariable(scope, variable_);
  return scope.WithOpName(name).Const(value_.has_value() ? *value_ : ScalarOf(dtype, number_));
}

Node* AddNamed(const Scope& scope, absl::string_view name, absl::string_view type, const std::vector<Operand>& inputs,
               Attrs attrs) {
  if (!scope.ok()) return nullptr;
  const StatusOr<const OpEntry*> op = OpRegistry::Global().Lookup(type);
  if (!op.ok()) {
    scope.Fail(op.status());
    return nullptr;
  }
  const OpDef& def = (*op)->def;
  const std::vector<Slot> slots = SlotsOf(def, inputs.size());
  if (slots.size() != inputs.size()) {
    scope.Fail(errors::InvalidArgument(inputs.size(), " inputs do not fit Op<", def.Signature(), ">"));
    return nullptr;
  }
  const Scope s = scope.NameScope(name.empty() ? type : name);
  std::vector<Output> outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    outputs.push_back(inputs[i].ToOutput(s, slots[i].name, TypeFor(def, *slots[i].arg, slots, inputs)));
  }
  return s.WithOpName(s.name_prefix()).Add(type, std::move(outputs), attrs);
}

Output OpNamed(const Scope& scope, absl::string_view name, absl::string_view type, const std::vector<Operand>& inputs,
               Attrs attrs) {
  Node* node = AddNamed(scope, name, type, inputs, attrs);
  return node == nullptr || node->num_outputs() == 0 ? Output() : Output(node, 0);
}

namespace operators {

Output Add(const Scope& s, const Operand& a, const Operand& b) { return OpNamed(s, "add", "AddV2", {a, b}); }
Output Sub(const Scope& s, const Operand& a, const Operand& b) { return OpNamed(s, "sub", "Sub", {a, b}); }
Output Mul(const Scope& s, const Operand& a, const Operand& b) { return OpNamed(s, "mul", "Mul", {a, b}); }
Output Div(const Scope& s, const Operand& a, const Operand& b) { return OpNamed(s, "truediv", "RealDiv", {a, b}); }
Output Ratio(const Scope& s, Output a, Output b, absl::string_view name) {
  return s.WithOpName(name.empty() ? "div" : name).Op("RealDiv", {a, b});
}
Output FloorDiv(const Scope& s, const Operand& a, const Operand& b) {
  return OpNamed(s, "floordiv", "FloorDiv", {a, b});
}
Output FloorMod(const Scope& s, const Operand& a, const Operand& b) { return OpNamed(s, "mod", "FloorMod", {a, b}); }
Output Pow(const Scope& s, const Operand& a, const Operand& b) { return OpNamed(s, "pow", "Pow", {a, b}); }

namespace {

Output Sliced(const Scope& scope, Output x, const std::vector<std::vector<int32_t>>& bounds, Attrs masks) {
  const Scope s = scope.NameScope("strided_slice");
  std::vector<Output> inputs = {x};
  for (const std::vector<int32_t>& bound : bounds) inputs.push_back(s.WithOpName("stack").Const(Tensor::Vector(bound)));
  return s.WithOpName(s.name_prefix()).Op("StridedSlice", inputs, masks);
}

}  // namespace

Output At(const Scope& s, Output x, int32_t index) {
  return Sliced(s, x, {{index}, {index + 1}, {1}}, {{"shrink_axis_mask", 1}});
}

Output Before(const Scope& s, Output x, int32_t end) { return Sliced(s, x, {{0}, {end}, {1}}, {{"begin_mask", 1}}); }
Output AllButFirst(const Scope& s, Output x) { return Sliced(s, x, {{1}, {0}, {1}}, {{"end_mask", 1}}); }
Output AllButLast(const Scope& s, Output x) { return Sliced(s, x, {{0}, {-1}, {1}}, {{"begin_mask", 1}}); }
Output Last(const Scope& s, Output x) { return Sliced(s, x, {{-1}, {0}, {1}}, {{"shrink_axis_mask", 1}}); }

Output FirstColumn(const Scope& s, Output x) {
  return Sliced(s, x, {{0, 0}, {0, 1}, {1, 1}}, {{"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
}

Output ShapeOf(const Scope& s, Output x) {
  const PartialShape shape = s.ShapeOf(x);
  if (!s.ok() || !shape.IsFullyDefined()) return s.Op("Shape", {x});
  return s.WithOpName("Shape").Const(SizesOf(shape));
}

Output OnesLike(const Scope& s, Output x) { return s.ok() ? OnesLike(s, x, x.dtype()) : Output(); }

Output OnesLike(const Scope& scope, Output x, DType dtype) {
  const Scope s = scope.NameScope("ones_like");
  const PartialShape shape = s.ShapeOf(x);
  if (!s.ok()) return {};
  const bool known = shape.IsFullyDefined();
  const Output sizes = known ? s.WithOpName("Shape/shape_as_tensor").Const(SizesOf(shape)) : s.Op("Shape", {x});
  const Output one = s.Const(ScalarOf(dtype, 1));
  return s.WithOpName(s.name_prefix()).Op("Fill", {sizes, one});
}

Output SizeOf(const Scope& s, Output x, absl::string_view name) {
  const PartialShape shape = s.ShapeOf(x);
  if (!s.ok() || !shape.IsFullyDefined()) return s.WithOpName(name).Op("Size", {x});
  return s.WithOpName(name).Const(static_cast<int32_t>(shape.num_elements()));
}

Output RankOf(const Scope& s, Output x) {
  const PartialShape shape = s.ShapeOf(x);
  if (!s.ok() || !shape.rank_known()) return s.Op("Rank", {x});
  return s.WithOpName("Rank").Const(static_cast<int32_t>(shape.rank()));
}

Output Range(const Scope& s, const Operand& start, const Operand& limit) {
  return OpNamed(s, "range", "Range", {start, limit, Tensor::Scalar<int32_t>(1)});
}

Output ZerosLike(const Scope& scope, Output x) {
  const PartialShape shape = scope.ShapeOf(x);
  if (!scope.ok() || !shape.IsFullyDefined()) return scope.WithOpName("zeros_like").Op("ZerosLike", {x});
  if (shape.num_elements() < 1000) {
    Tensor zeros(x.dtype(), shape.ToShape());
    std::memset(zeros.raw(), 0, zeros.ByteSize());
    return scope.WithOpName("zeros_like").Const(zeros);
  }
  const Scope s = scope.NameScope("zeros_like");
  const Output sizes = s.WithOpName("shape_as_tensor").Const(SizesOf(shape));
  return s.WithOpName(s.name_prefix()).Op("Fill", {sizes, s.Const(ScalarOf(x.dtype(), 0))});
}

Output Concat(const Scope& s, const std::vector<Operand>& values) {
  std::vector<Operand> inputs = values;
  inputs.emplace_back(Tensor::Scalar<int32_t>(0));
  return OpNamed(s, "concat", "ConcatV2", inputs);
}

Output ReduceAll(const Scope& s, const char* type, Output x, bool keep_dims, absl::string_view name) {
  const PartialShape shape = s.ShapeOf(x);
  if (!s.ok()) return {};
  const Scope reduce = s.WithOpName(name);
  if (!shape.rank_known()) {
    return reduce.Op(type, {x, Range(s, 0, s.Op("Rank", {x}))}, {{"keep_dims", keep_dims}});
  }
  std::vector<int32_t> axes(static_cast<size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return reduce.Op(type, {x, s.Const(Tensor::Vector(axes))}, {{"keep_dims", keep_dims}});
}

Output Reduce(const Scope& s, const char* type, Output x, const Operand& axes, bool keep_dims) {
  return OpNamed(s, type, type, {x, axes}, {{"keep_dims", keep_dims}});
}

}  // namespace operators
}  // namespace millstream
