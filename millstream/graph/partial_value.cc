// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/partial_value.h"

#include <algorithm>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

constexpr int64_t kMaxElements = 256;

bool IsIndexType(DType t) { return t == DType::kInt32 || t == DType::kInt64; }

// Ops that pass input 0 on unchanged wherever their output exists at all.
bool PassesInput(const Node& node) {
  if (IsEnter(node)) {
    bool constant = false;
    return node.GetAttr("is_constant", &constant).ok() && constant;
  }
  return node.op().Has(OpTrait::kPassesInput) || IsSwitch(node);
}

// Ops that move elements without reading them: the type attribute and how many leading inputs carry elements (-1: all
// but the last).
struct Mover {
  absl::string_view type, attr;
  int data_inputs;
};
constexpr Mover kMovers[] = {{"Pack", "T", 1 << 20}, {"ConcatV2", "T", -1},    {"StridedSlice", "T", 1},
                             {"Slice", "T", 1},      {"Gather", "Tparams", 1}, {"GatherV2", "Tparams", 1},
                             {"ExpandDims", "T", 1}, {"Squeeze", "T", 1},      {"Reshape", "T", 1},
                             {"ReverseV2", "T", 1},  {"Tile", "T", 1},         {"Unpack", "T", 1}};

constexpr absl::string_view kFoldable[] = {"Add",
                                           "AddV2",
                                           "Sub",
                                           "Mul",
                                           "Div",
                                           "FloorDiv",
                                           "TruncateDiv",
                                           "FloorMod",
                                           "Mod",
                                           "Maximum",
                                           "Minimum",
                                           "Neg",
                                           "Abs",
                                           "Sign",
                                           "Square",
                                           "Prod",
                                           "Sum",
                                           "Max",
                                           "Min",
                                           "Range",
                                           "Fill",
                                           "Cast",
                                           "Select",
                                           "ListDiff",
                                           "BroadcastGradientArgs",
                                           "BroadcastArgs",
                                           "InvertPermutation",
                                           "ConcatOffset",
                                           "ZerosLike",
                                           "OnesLike",
                                           "BroadcastTo",
                                           "Transpose"};

const Mover* FindMover(absl::string_view type) {
  const auto* it = std::find_if(std::begin(kMovers), std::end(kMovers), [&](const Mover& m) { return m.type == type; });
  return it == std::end(kMovers) ? nullptr : it;
}

Tensor ToInt64(const Tensor& t) {
  if (t.dtype() == DType::kInt64) return t;
  Tensor wide(DType::kInt64, t.shape());
  std::copy_n(t.data<int32_t>(), t.num_elements(), wide.data<int64_t>());
  return wide;
}

// int64 elements, none of them unknown, as a tensor of type `dtype`; false if one does not fit.
bool FromInt64(const Tensor& t, DType dtype, Tensor* out) {
  if (dtype == DType::kInt64) {
    *out = t;
    return true;
  }
  Tensor narrow(DType::kInt32, t.shape());
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    const int64_t v = t.data<int64_t>()[i];
    if (v != static_cast<int32_t>(v)) return false;
    narrow.data<int32_t>()[i] = static_cast<int32_t>(v);
  }
  *out = narrow;
  return true;
}

PartialValue FromElements(const Tensor& elements, DType dtype) {
  PartialValue v;
  const auto flat = elements.flat<int64_t>();
  v.complete = std::find(flat.begin(), flat.end(), PartialValue::kUnknown) == flat.end();
  if (!v.complete)
    v.tensor = elements;
  else if (!FromInt64(elements, dtype, &v.tensor))
    v = PartialValue();
  return v;
}

PartialValue FromInts(const std::vector<int64_t>& values, DType dtype) {
  return FromElements(Tensor::Vector<int64_t>(values), dtype);
}

PartialValue FromInt(int64_t value, DType dtype) { return FromElements(Tensor::Scalar<int64_t>(value), dtype); }

PartialValue ShapeValue(const PartialShape& shape, DType dtype) {
  if (!shape.rank_known()) return {};
  std::vector<int64_t> dims = shape.dims();
  for (int64_t& d : dims)
    if (d < 0) d = PartialValue::kUnknown;
  return FromInts(dims, dtype);
}

// Shape, ShapeN, Rank, Size: from static shapes.
bool EvaluateShapeOp(const Node& node, const std::vector<PartialShape>& shapes, std::vector<PartialValue>* out) {
  const auto type = [&](int i) { return RemoveRef(node.output_type(i)); };
  if (node.Is("Shape") || node.Is("ShapeN")) {
    for (int i = 0; i < node.num_outputs(); ++i) out->push_back(ShapeValue(shapes[i], type(i)));
  } else if (node.Is("Rank")) {
    if (shapes[0].rank_known()) out->push_back(FromInt(shapes[0].rank(), type(0)));
  } else if (node.Is("Size")) {
    if (shapes[0].IsFullyDefined() && shapes[0].num_elements() >= 0) {
      out->push_back(FromInt(shapes[0].num_elements(), type(0)));
    }
  } else {
    return false;
  }
  return true;
}

bool Small(const Node& node, const std::vector<const PartialValue*>& inputs, const std::vector<PartialShape>& outputs) {
  for (const PartialValue* in : inputs) {
    if (in == nullptr || in->tensor.num_elements() > kMaxElements || !IsIndexType(in->tensor.dtype())) return false;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (!IsIndexType(RemoveRef(node.output_type(i)))) return false;
    if (node.Is("BroadcastGradientArgs") || node.Is("ListDiff")) continue;  // no larger than their inputs
    const int64_t n = outputs[i].num_elements();
    if (n < 0 || n > kMaxElements) return false;
  }
  return true;
}

std::vector<PartialValue> Fold(const Node& node, const std::vector<const PartialValue*>& inputs) {
  std::vector<Tensor> tensors;
  for (const PartialValue* in : inputs) tensors.push_back(in->tensor);
  StatusOr<std::vector<Tensor>> results =
      RunKernel(node.op(), node.attrs(), std::move(tensors), CpuDevice::SingleThreaded());
  std::vector<PartialValue> out;
  if (!results.ok()) return out;  // it will fail when it runs, if it runs
  for (Tensor& t : *results) out.push_back({std::move(t), true});
  return out;
}

// Runs a mover on int64 elements, so that kUnknown travels with the others.
std::vector<PartialValue> Move(const Node& node, const Mover& mover, const std::vector<const PartialValue*>& inputs) {
  const int n = node.num_inputs();
  const int data = mover.data_inputs < 0 ? n - 1 : std::min(mover.data_inputs, n);
  std::vector<Tensor> tensors;
  for (int i = 0; i < n; ++i) {
    if (i >= data && !inputs[i]->complete) return {};
    tensors.push_back(i < data ? ToInt64(inputs[i]->tensor) : inputs[i]->tensor);
  }
  AttrMap attrs = node.attrs();
  attrs.Set(mover.attr, DType::kInt64);
  StatusOr<std::vector<Tensor>> results = RunKernel(node.op(), attrs, std::move(tensors), CpuDevice::SingleThreaded());
  std::vector<PartialValue> out;
  if (!results.ok()) return out;
  for (int i = 0; i < node.num_outputs(); ++i)
    out.push_back(FromElements((*results)[i], RemoveRef(node.output_type(i))));
  return out;
}

// A Pack of scalars of which some are not known at all is still partly known.
std::vector<PartialValue> PackPartly(const Node& node, const std::vector<const PartialValue*>& inputs,
                                     const std::vector<PartialShape>& shapes) {
  std::vector<int64_t> values;
  if (!IsIndexType(RemoveRef(node.output_type(0))) || inputs.size() > kMaxElements) return {};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!shapes[i].rank_known() || shapes[i].rank() != 0) return {};
    values.push_back(inputs[i] == nullptr ? PartialValue::kUnknown : ToInt64(inputs[i]->tensor).scalar<int64_t>());
  }
  return {FromInts(values, RemoveRef(node.output_type(0)))};
}

// A ConcatV2 along axis 0 of vectors of known length, some with unknown elements.
std::vector<PartialValue> ConcatPartly(const Node& node, const std::vector<const PartialValue*>& inputs,
                                       const std::vector<PartialShape>& shapes) {
  const size_t n = inputs.size() - 1;
  if (!IsIndexType(RemoveRef(node.output_type(0))) || inputs[n] == nullptr || !inputs[n]->complete) return {};
  std::vector<int64_t> values;
  for (size_t i = 0; i < n; ++i) {
    if (inputs[i] != nullptr) {
      const Tensor t = ToInt64(inputs[i]->tensor);
      if (t.rank() != 1) return {};
      values.insert(values.end(), t.data<int64_t>(), t.data<int64_t>() + t.num_elements());
    } else {
      if (shapes[i].rank() != 1 || shapes[i].dim(0) < 0 || shapes[i].dim(0) > kMaxElements) return {};
      values.insert(values.end(), static_cast<size_t>(shapes[i].dim(0)), PartialValue::kUnknown);
    }
    if (values.size() > kMaxElements) return {};
  }
  return {FromInts(values, RemoveRef(node.output_type(0)))};
}

}  // namespace

std::vector<PartialValue> EvaluatePartially(const Node& node, const std::vector<const PartialValue*>& inputs,
                                            const std::vector<PartialShape>& input_shapes,
                                            const std::vector<PartialShape>& output_shapes) {
  std::vector<PartialValue> out;
  if (IsA(node, OpKind::kConst)) {
    Tensor value;
    if (node.GetAttr("value", &value).ok()) out.push_back({std::move(value), true});
    return out;
  }
  if (node.num_outputs() == 0 || inputs.empty()) return out;
  if (EvaluateShapeOp(node, input_shapes, &out)) return out;
  if (PassesInput(node)) {
    if (inputs[0] != nullptr) out.assign(node.num_outputs(), *inputs[0]);
    return out;
  }
  const Mover* mover = FindMover(node.type());
  const bool foldable = std::find(std::begin(kFoldable), std::end(kFoldable), node.type()) != std::end(kFoldable);
  if (mover == nullptr && !foldable) return out;
  if (Small(node, inputs, output_shapes)) {
    const bool complete = std::all_of(inputs.begin(), inputs.end(), [](const PartialValue* v) { return v->complete; });
    if (complete) return Fold(node, inputs);
    if (mover != nullptr) return Move(node, *mover, inputs);
    if (node.Is("Cast")) return {*inputs[0]};
    return out;
  }
  if (node.Is("Pack")) return PackPartly(node, inputs, input_shapes);
  if (node.Is("ConcatV2")) return ConcatPartly(node, inputs, input_shapes);
  return out;
}

}  // namespace millstream
