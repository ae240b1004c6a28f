// SPDX-License-Identifier: Apache-2.0
// Runs single ops with arbitrary attributes and inputs: whatever they are, a step ends with a status.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"
#include "millstream/tensor/allocator.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Reads choices from the input; zeros when it is used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t Byte() { return at_ < size_ ? data_[at_++] : 0; }
  int Below(int n) { return n <= 1 ? 0 : (Byte() | (n > 256 ? Byte() << 8 : 0)) % n; }
  // Mostly small, sometimes an end of the range.
  int64_t Number() {
    static constexpr int64_t kFar[] = {std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min(),
                                       INT32_MAX,
                                       INT32_MIN,
                                       1 << 20,
                                       -1000,
                                       65536,
                                       int64_t{1} << 40};
    const int b = Byte();
    return b < 240 ? b % 12 - 3 : kFar[b % 8];
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

constexpr DType kTypes[] = {DType::kFloat,  DType::kInt32,  DType::kInt64,    DType::kDouble,
                            DType::kBool,   DType::kString, DType::kHalf,     DType::kUint8,
                            DType::kInt8,   DType::kInt16,  DType::kBfloat16, DType::kComplex64,
                            DType::kUint16, DType::kUint32, DType::kUint64,   DType::kComplex128};

// Ops that write files, wait for somebody else, or talk.
bool IsHarmless(const std::string& op) {
  for (const char* part : {"Save", "File", "Print", "Queue", "Accumulator", "Barrier", "MergeV2", "Iterator", "Reader",
                           "_Arg", "_Retval"}) {
    if (absl::StrContains(op, part)) return false;
  }
  return true;
}

class OpMaker {
 public:
  OpMaker(Choices* choices, const Scope& scope) : c_(*choices), scope_(scope) {}

  Node* Make(const OpEntry& op) {
    std::vector<std::pair<std::string, AttrValue>> attrs;
    AttrMap map;
    for (const AttrDef& def : op.def.attrs) {
      if (!def.default_value.empty() && c_.Byte() % 4 != 0) continue;
      AttrValue value = Attr(def);
      if (value.empty()) continue;
      map.Set(def.name, value);
      attrs.emplace_back(def.name, std::move(value));
    }
    std::vector<DType> types;
    if (!CompleteAttrs(op.def, &map).ok() || !ArgTypes(op.def.inputs, map, &types).ok() || types.size() > 16)
      return nullptr;
    std::vector<Output> inputs;
    for (const DType type : types) {
      inputs.push_back(Input(type));
      if (!inputs.back()) return nullptr;
    }
    return scope_.WithOpName("op").Add(op.def.name, std::move(inputs), std::move(attrs));
  }

 private:
  DType Type(const AttrDef& def) {
    if (!def.allowed_types.empty()) return def.allowed_types[c_.Below(static_cast<int>(def.allowed_types.size()))];
    return kTypes[c_.Below(std::size(kTypes))];
  }

  PartialShape AnyShape() {
    if (c_.Byte() % 8 == 0) return PartialShape();
    std::vector<int64_t> dims(c_.Below(5));
    for (int64_t& d : dims) d = c_.Below(6) - 1;
    StatusOr<PartialShape> shape = PartialShape::Make(dims);
    return shape.ok() ? *shape : PartialShape();
  }

  std::string Text(const AttrDef& def) {
    if (!def.allowed_strings.empty())
      return def.allowed_strings[c_.Below(static_cast<int>(def.allowed_strings.size()))];
    static constexpr const char* kTexts[] = {"",        "a",        "NHWC",      "NCHW", "SAME",    "VALID",
                                             "abc;def", "\xff\xfe", "ij,jk->ik", "%",    "truncate"};
    return kTexts[c_.Below(std::size(kTexts))];
  }

  AttrValue Attr(const AttrDef& def) {
    const int n = def.type.starts_with("list") ? c_.Below(6) : 1;
    if (def.type == "type") return Type(def);
    if (def.type == "int") return def.has_minimum && c_.Byte() % 2 == 0 ? def.minimum + c_.Below(3) : c_.Number();
    if (def.type == "float") return static_cast<float>(c_.Number()) / 2;
    if (def.type == "bool") return c_.Byte() % 2 == 0;
    if (def.type == "string") return Text(def);
    if (def.type == "shape") return AnyShape();
    if (def.type == "tensor") return AnyTensor(kTypes[c_.Below(std::size(kTypes))]);
    if (def.type == "list(type)") {
      std::vector<DType> list(n);
      for (DType& t : list) t = Type(def);
      return list;
    }
    if (def.type == "list(int)") {
      std::vector<int64_t> list(n);
      for (int64_t& v : list) v = c_.Number();
      return list;
    }
    if (def.type == "list(float)") return std::vector<float>(n, static_cast<float>(c_.Number()));
    if (def.type == "list(string)") {
      std::vector<std::string> list(n);
      for (std::string& v : list) v = Text(def);
      return list;
    }
    if (def.type == "list(shape)") {
      std::vector<PartialShape> list(n);
      for (PartialShape& v : list) v = AnyShape();
      return list;
    }
    if (def.type == "func") return NameAttrList{"f", {}};
    return {};
  }

  // Often the same for all inputs, so that some fit each other; else a scalar, a vector for its sizes, or anything.
  std::vector<int64_t> AnyDims() {
    const int kind = c_.Below(8);
    if (kind == 0) return {};
    if (kind == 1) return {static_cast<int64_t>(common_.size())};
    if (kind < 6 && !common_.empty()) return common_;
    std::vector<int64_t> dims(c_.Below(5));
    for (int64_t& d : dims) d = c_.Below(8) == 7 ? c_.Below(40) : c_.Below(5);
    if (common_.empty()) common_ = dims;
    return dims;
  }

  Tensor AnyTensor(DType type) {
    const std::vector<int64_t> dims = AnyDims();
    StatusOr<Tensor> t = Tensor::Make(type, Shape(dims));
    if (!t.ok()) return Tensor();
    DispatchOver(AllTypes{}, type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T& v : std::span<T>(t->template data<T>(), static_cast<size_t>(t->num_elements()))) {
        if constexpr (std::is_same_v<T, std::string>) {
          static constexpr const char* kTexts[] = {"", "a", "12", "-1.5e9", "x,y", "\"q", "\xff\xfe\x01", "%d"};
          v = kTexts[c_.Below(std::size(kTexts))];
        } else if constexpr (std::is_same_v<T, bool>) {
          v = c_.Byte() % 2 == 0;
        } else if constexpr (std::is_arithmetic_v<T>) {
          v = static_cast<T>(c_.Number());
        } else if constexpr (!std::is_same_v<T, ResourceHandle> && !std::is_same_v<T, Variant>) {
          v = T(static_cast<float>(c_.Number()));
        }
      }
    });
    return *std::move(t);
  }

  Output Input(DType type) {
    if (IsRef(type)) {
      const DType value = RemoveRef(type);
      const Output var = scope_.Op("VariableV2", {}, {{"dtype", value}, {"shape", AnyShape()}});
      if (c_.Byte() % 4 == 0) return var;
      return scope_.Op("Assign", {var, Input(value)}, {{"validate_shape", false}});
    }
    if (type == DType::kResource) return Resource();
    if (type == DType::kVariant) {
      return scope_.Op("TensorDataset", {Input(DType::kFloat)},
                       {{"output_shapes", std::vector<PartialShape>{AnyShape()}}});
    }
    Tensor value = AnyTensor(type);
    return value.IsInitialized() ? scope_.Const(std::move(value)) : Output();
  }

  Output Resource() {
    const DType type = kTypes[c_.Below(std::size(kTypes))];
    switch (c_.Below(4)) {
      case 0:
        return scope_.Op("TensorArrayV3", {scope_.Const<int32_t>(2)}, {{"dtype", type}});
      case 1:
        return scope_.Op("StackV2", {scope_.Const<int32_t>(2)}, {{"elem_type", type}});
      default:
        break;
    }
    const Output var = scope_.Op("VarHandleOp", {}, {{"dtype", type}, {"shape", PartialShape()}});
    if (c_.Byte() % 4 == 0) return var;
    Node* assign = scope_.Add("AssignVariableOp", {var, Input(type)});
    return scope_.WithControlDependencies({assign}).Op("Identity", {var});
  }

  Choices& c_;
  const Scope& scope_;
  std::vector<int64_t> common_;
};

// The inputs of a node that needs nothing but values: then its kernel can be run as it is, without a session.
bool ConstantInputs(const Node& node, std::vector<Tensor>* inputs) {
  if (node.IsStateful() || node.IsControlFlow()) return false;
  for (const Output& in : node.inputs()) {
    inputs->emplace_back();
    if (!in.node->Is("Const") || !in.node->GetAttr("value", &inputs->back()).ok()) return false;
  }
  for (const KernelDef& kernel : node.op().kernels)
    if (kernel.async) return false;
  return true;
}

const OpEntry& Choose(Choices* choices) {
  static const auto* ops = [] {
    auto* list = new std::vector<const OpEntry*>(OpRegistry::Global().Sorted());
    std::erase_if(*list, [](const OpEntry* op) { return !IsHarmless(op->def.name); });
    // One op alone, to look at it closely.
    if (const char* only = std::getenv("OP_FUZZ_ONLY")) {
      std::erase_if(*list, [&](const OpEntry* op) { return op->def.name != only; });
    }
    return list;
  }();
  return *(*ops)[choices->Below(static_cast<int>(ops->size()))];
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  SetHostMemoryLimit(int64_t{256} << 20);
  Choices choices(data, size);
  const OpEntry& op = Choose(&choices);
  if (std::getenv("OP_FUZZ_SHOW") != nullptr) std::fprintf(stderr, "%s\n", op.def.name.c_str());
  Scope scope = Scope::Root();
  Node* node = OpMaker(&choices, scope).Make(op);
  if (node == nullptr || !scope.ok()) return 0;
  std::vector<Tensor> inputs;
  if (ConstantInputs(*node, &inputs)) {
    RunKernel(node->op(), node->attrs(), std::move(inputs), CpuDevice::SingleThreaded()).status().IgnoreError();
    return 0;
  }
  SessionOptions options;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  options.operation_timeout_ms = 500;
  options.rewrite = RewriteOptions::None();
  auto session = NewSession(options);
  if (!session.ok() || !(*session)->Extend(*scope.graph()).ok()) return 0;
  (*session)->Run({}, {}, {node->name()}, nullptr).IgnoreError();
  return 0;
}
