// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/testing/random_program.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::testing {
namespace {

constexpr DType kTypes[] = {DType::kFloat,  DType::kInt32,  DType::kInt64,    DType::kDouble,
                            DType::kBool,   DType::kString, DType::kHalf,     DType::kUint8,
                            DType::kInt8,   DType::kInt16,  DType::kBfloat16, DType::kComplex64,
                            DType::kUint16, DType::kUint32, DType::kUint64,   DType::kComplex128};
constexpr int kMaxDepth = 3;
constexpr size_t kMaxInputs = 24;
constexpr int64_t kMaxElements = 8192;

// y = x, y = x + x, x < 3, a constant, and one that calls itself twice.
constexpr char kFunctions[] = R"(
function {
  signature { name: "same" input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" } attr { name: "T" type: "type" } }
  node_def { name: "i" op: "Identity" input: "x" attr { key: "T" value { placeholder: "T" } } }
  ret { key: "y" value: "i:output:0" }
}
function {
  signature { name: "twice" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "a" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "a:z:0" }
}
function {
  signature { name: "small" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_BOOL } }
  node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
  node_def { name: "l" op: "Less" input: "x" input: "c:output:0" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "l:z:0" }
}
function {
  signature { name: "three" output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
  ret { key: "y" value: "c:output:0" }
}
function {
  signature { name: "again" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "a" op: "again" input: "x" }
  node_def { name: "b" op: "again" input: "a:y:0" }
  ret { key: "y" value: "b:y:0" }
}
)";
constexpr const char* kFunctionNames[] = {"same", "twice", "small", "three", "again"};

// How much of a name two ops share.
size_t Alike(const std::string& a, const std::string& b) {
  size_t best = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      size_t n = 0;
      while (i + n < a.size() && j + n < b.size() && a[i + n] == b[j + n]) ++n;
      best = std::max(best, n);
    }
  }
  return best;
}

}  // namespace

int64_t Choices::Number() {
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

bool IsHarmless(absl::string_view op) {
  for (const char* part : {"Save", "WriteFile", "MergeV2", "Print", "Abort", "_Arg", "_Retval"}) {
    if (absl::StrContains(op, part)) return false;
  }
  return true;
}

const std::vector<const OpEntry*>& HarmlessOps() {
  static const auto* ops = [] {
    auto* list = new std::vector<const OpEntry*>(OpRegistry::Global().Sorted());
    std::erase_if(*list, [](const OpEntry* op) { return !IsHarmless(op->def.name); });
    return list;
  }();
  return *ops;
}

const std::vector<std::string>& ProgramWords() {
  static const auto* words = [] {
    std::set<std::string> set = {"_class",
                                 "loc:@n0",
                                 "_output_shapes",
                                 "/cpu:0",
                                 "/job:local/replica:0/task:0/device:CPU:0",
                                 "/job:other/task:7",
                                 "n0",
                                 "n1:0",
                                 "^n2",
                                 "n3:1",
                                 "n4:0",
                                 "n5:0",
                                 "localhost",
                                 "f"};
    for (const OpEntry* op : HarmlessOps()) {
      set.insert(op->def.name);
      for (const AttrDef& attr : op->def.attrs) set.insert(attr.name);
    }
    set.insert(std::begin(kFunctionNames), std::end(kFunctionNames));
    return new std::vector<std::string>(set.begin(), set.end());
  }();
  return *words;
}

RandomProgram::RandomProgram(Choices* choices, proto::GraphDef* graph) : c_(*choices), graph_(graph) {
  favourite_ = c_.Byte() % 2 == 0 ? DType::kFloat : kTypes[c_.Below(std::size(kTypes))];
  for (const proto::NodeDef& node : graph->node()) {
    const OpEntry* op = OpRegistry::Global().Find(node.op());
    if (op == nullptr) continue;
    AttrMap attrs;
    for (const auto& [name, value] : node.attr()) {
      StatusOr<AttrValue> attr = AttrFromProto(value, {.max_bytes = 1 << 16});
      if (attr.ok()) attrs.Set(name, *std::move(attr));
    }
    if (CompleteAttrs(op->def, &attrs, /*keep_unknown=*/true).ok()) AddValues(node, *op, attrs);
  }
}

void RandomProgram::AddFunctions() {
  google::protobuf::TextFormat::ParseFromString(kFunctions, graph_->mutable_library());
}

void RandomProgram::AddValues(const proto::NodeDef& node, const OpEntry& op, const AttrMap& attrs) {
  std::vector<DType> types;
  if (!ArgTypes(op.def.outputs, attrs, &types).ok()) return;
  for (size_t i = 0; i < std::min(types.size(), kMaxInputs); ++i)
    values_.push_back({absl::StrCat(node.name(), ":", i), types[i]});
}

proto::NodeDef* RandomProgram::NewNode(absl::string_view op) {
  proto::NodeDef* node = graph_->add_node();
  node->set_name(absl::StrCat("n", graph_->node_size() - 1));
  node->set_op(std::string(op));
  return node;
}

AttrMap RandomProgram::ChooseAttrs(const OpEntry& op) {
  AttrMap attrs;
  for (const AttrDef& def : op.def.attrs) {
    if (!def.default_value.empty() && c_.Byte() % 4 != 0) continue;
    AttrValue value = Attr(def);
    if (!value.empty()) attrs.Set(def.name, std::move(value));
  }
  return attrs;
}

int RandomProgram::AddNode(const OpEntry& op) {
  if (depth_ == kMaxDepth) return -1;
  ++depth_;
  const AttrMap chosen = ChooseAttrs(op);
  AttrMap attrs = chosen;
  std::vector<DType> types;
  std::vector<std::string> inputs;
  bool fits =
      CompleteAttrs(op.def, &attrs).ok() && ArgTypes(op.def.inputs, attrs, &types).ok() && types.size() <= kMaxInputs;
  for (size_t i = 0; fits && i < types.size(); ++i) {
    inputs.push_back(Input(types[i], op));
    fits = !inputs.back().empty();
  }
  --depth_;
  if (!fits) return -1;
  proto::NodeDef* node = NewNode(op.def.name);
  for (std::string& input : inputs) node->add_input(std::move(input));
  for (const auto& [name, value] : chosen) {
    if (!AttrToProto(value, &(*node->mutable_attr())[std::string(name)]).ok())
      node->mutable_attr()->erase(std::string(name));
  }
  AddValues(*node, op, attrs);
  return graph_->node_size() - 1;
}

void RandomProgram::ChangeAttr(proto::NodeDef* node) {
  const OpEntry* op = OpRegistry::Global().Find(node->op());
  if (op == nullptr || op->def.attrs.empty()) return;
  const AttrDef& def = op->def.attrs[static_cast<size_t>(c_.Below(static_cast<int>(op->def.attrs.size())))];
  proto::AttrValue value;
  if (AttrToProto(Attr(def), &value).ok()) (*node->mutable_attr())[def.name] = value;
}

void RandomProgram::Repeat(const proto::NodeDef& node, int count) {
  const OpEntry* op = OpRegistry::Global().Find(node.op());
  const auto known = [&](const std::string& name) {
    return std::find_if(values_.begin(), values_.end(), [&](const Value& v) {
      return v.name == name || v.name == name + ":0" || v.name + ":0" == name;
    });
  };
  const auto made = known(node.name());
  if (op == nullptr || made == values_.end()) return;
  const DType type = made->type;
  std::string last = node.name();
  for (int i = 0; i < count; ++i) {
    proto::NodeDef* next = NewNode(node.op());
    *next->mutable_attr() = node.attr();
    bool grows = false;
    for (const std::string& input : node.input()) {
      const auto from = known(input);
      const bool fits = from != values_.end() && TypesCompatible(from->type, type);
      next->add_input(fits ? last : input);
      grows |= fits;
    }
    if (!grows) return;
    last = next->name();
    values_.push_back({absl::StrCat(last, ":0"), type});
  }
}

DType RandomProgram::Type(const AttrDef& def) {
  const auto& allowed = def.allowed_types;
  const bool may = allowed.empty() || std::find(allowed.begin(), allowed.end(), favourite_) != allowed.end();
  if (may && c_.Byte() % 2 == 0) return favourite_;
  if (!allowed.empty()) return allowed[static_cast<size_t>(c_.Below(static_cast<int>(allowed.size())))];
  return kTypes[c_.Below(std::size(kTypes))];
}

PartialShape RandomProgram::AnyShape() {
  if (c_.Byte() % 8 == 0) return {};
  std::vector<int64_t> dims(static_cast<size_t>(c_.Below(5)));
  for (int64_t& d : dims) d = c_.Below(6) - 1;
  StatusOr<PartialShape> shape = PartialShape::Make(dims);
  return shape.ok() ? *shape : PartialShape();
}

std::string RandomProgram::Text(const AttrDef& def) {
  const auto& allowed = def.allowed_strings;
  if (!allowed.empty()) return allowed[static_cast<size_t>(c_.Below(static_cast<int>(allowed.size())))];
  static constexpr const char* kTexts[] = {"",        "a",        "NHWC",      "NCHW", "SAME",    "VALID",
                                           "abc;def", "\xff\xfe", "ij,jk->ik", "%",    "truncate"};
  return kTexts[c_.Below(std::size(kTexts))];
}

AttrValue RandomProgram::Attr(const AttrDef& def) {
  if (def.type.starts_with("list")) return ListAttr(def);
  if (def.type == "type") return Type(def);
  if (def.type == "int") return def.has_minimum && c_.Byte() % 2 == 0 ? def.minimum + c_.Below(3) : c_.Number();
  if (def.type == "float") return static_cast<float>(c_.Number()) / 2;
  if (def.type == "bool") return c_.Byte() % 2 == 0;
  if (def.type == "string") return Text(def);
  if (def.type == "shape") return AnyShape();
  if (def.type == "tensor") return AnyTensor(kTypes[c_.Below(std::size(kTypes))]);
  if (def.type == "func") return NameAttrList{kFunctionNames[c_.Below(std::size(kFunctionNames))], {{"T", favourite_}}};
  return {};
}

AttrValue RandomProgram::ListAttr(const AttrDef& def) {
  const auto list = [n = static_cast<size_t>(c_.Below(6))](auto make) {
    std::vector<decltype(make())> values(n);
    for (auto& value : values) value = make();
    return values;
  };
  if (def.type == "list(type)") return list([&] { return Type(def); });
  if (def.type == "list(int)") return list([&] { return c_.Number(); });
  if (def.type == "list(float)") return list([&] { return static_cast<float>(c_.Number()); });
  if (def.type == "list(string)") return list([&] { return Text(def); });
  if (def.type == "list(shape)") return list([&] { return AnyShape(); });
  if (def.type == "list(func)") {
    return list([&] { return NameAttrList{kFunctionNames[c_.Below(std::size(kFunctionNames))], {{"T", favourite_}}}; });
  }
  return {};
}

// Often the same for all inputs, so that some fit each other; else a scalar, a vector for its sizes, or anything.
std::vector<int64_t> RandomProgram::AnyDims() {
  const int kind = c_.Below(8);
  if (kind == 0) return {};
  if (kind == 1) return {static_cast<int64_t>(common_.size())};
  if (kind < 6 && !common_.empty()) return common_;
  std::vector<int64_t> dims(static_cast<size_t>(c_.Below(5)));
  int64_t room = kMaxElements;  // a thousand matrices of 39 x 39 take some ops minutes
  for (int64_t& d : dims) {
    d = std::min<int64_t>(c_.Below(8) == 7 ? c_.Below(40) : c_.Below(5), room);
    room /= std::max<int64_t>(d, 1);
  }
  if (common_.empty()) common_ = dims;
  return dims;
}

Tensor RandomProgram::AnyTensor(DType type) {
  StatusOr<Tensor> t = Tensor::Make(type, Shape(AnyDims()));
  if (!t.ok()) return {};
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

std::string RandomProgram::Const(DType type) {
  const Tensor value = AnyTensor(type);
  if (!value.IsInitialized()) return "";
  proto::NodeDef* node = NewNode("Const");
  (*node->mutable_attr())["dtype"].set_type(static_cast<proto::DataType>(type));
  if (!AttrToProto(value, &(*node->mutable_attr())["value"]).ok()) return "";
  values_.push_back({node->name(), type});
  return node->name();
}

std::string RandomProgram::Input(DType type, const OpEntry& op) {
  std::vector<const Value*> fitting;
  if (connect_ && c_.Byte() % 2 == 0) {
    for (const Value& value : values_) {
      if (TypesCompatible(type, value.type)) fitting.push_back(&value);
    }
  }
  if (!fitting.empty()) return fitting[static_cast<size_t>(c_.Below(static_cast<int>(fitting.size())))]->name;
  if (type == DType::kResource && c_.Byte() % 2 == 0) return ResourceVariable();
  if (type == DType::kResource || type == DType::kVariant || type == MakeRefType(DType::kString))
    return Produced(type, op);
  return IsRef(type) ? RefVariable(type) : Const(type);
}

std::string RandomProgram::Produced(DType type, const OpEntry& op) {
  std::vector<const OpEntry*> makers;
  for (const OpEntry* other : HarmlessOps()) {
    if (other->def.outputs.empty() || other == &op) continue;
    const ArgDef& out = other->def.outputs[0];
    if ((out.is_ref ? MakeRefType(out.type) : out.type) == type) makers.push_back(other);
  }
  if (makers.empty()) return "";
  // Mostly from an op whose name is like this one's: a queue for QueueSize.
  const OpEntry* best = makers[static_cast<size_t>(c_.Below(static_cast<int>(makers.size())))];
  for (int i = c_.Below(12); i > 0; --i) {
    const OpEntry* other = makers[static_cast<size_t>(c_.Below(static_cast<int>(makers.size())))];
    if (Alike(other->def.name, op.def.name) > Alike(best->def.name, op.def.name)) best = other;
  }
  const int made = AddNode(*best);
  return made < 0 ? "" : graph_->node(made).name();
}

std::string RandomProgram::ResourceVariable() {
  const DType type = c_.Byte() % 2 == 0 ? favourite_ : kTypes[c_.Below(std::size(kTypes))];
  const std::string var = NewNode("VarHandleOp")->name();
  auto& attrs = *graph_->mutable_node(graph_->node_size() - 1)->mutable_attr();
  attrs["dtype"].set_type(static_cast<proto::DataType>(type));
  attrs["shape"].mutable_shape()->set_unknown_rank(true);
  values_.push_back({var, DType::kResource});
  if (c_.Byte() % 4 == 0) return var;
  const std::string value = Const(type);
  proto::NodeDef* assign = NewNode("AssignVariableOp");
  (*assign->mutable_attr())["dtype"].set_type(static_cast<proto::DataType>(type));
  for (const std::string& input : {var, value}) assign->add_input(input);
  const std::string wait = absl::StrCat("^", assign->name());
  proto::NodeDef* ready = NewNode("Identity");
  (*ready->mutable_attr())["T"].set_type(proto::DT_RESOURCE);
  for (const std::string& input : {var, wait}) ready->add_input(input);
  values_.push_back({ready->name(), DType::kResource});
  return ready->name();
}

std::string RandomProgram::RefVariable(DType type) {
  const DType base = RemoveRef(type);
  proto::NodeDef* node = NewNode("VariableV2");
  const std::string var = node->name();
  (*node->mutable_attr())["dtype"].set_type(static_cast<proto::DataType>(base));
  if (!AttrToProto(AnyShape(), &(*node->mutable_attr())["shape"]).ok()) return "";
  values_.push_back({var, type});
  if (c_.Byte() % 4 == 0) return var;
  const std::string value = Const(base);
  proto::NodeDef* assign = NewNode("Assign");
  (*assign->mutable_attr())["T"].set_type(static_cast<proto::DataType>(base));
  (*assign->mutable_attr())["validate_shape"].set_b(false);
  for (const std::string& input : {var, value}) assign->add_input(input);
  values_.push_back({assign->name(), type});
  return assign->name();
}

void ChangeProgram(ProtoMutator* mutator, proto::GraphDef* graph) {
  std::vector<uint8_t> bytes(400);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(mutator->Next() >> 8);
  Choices choices(bytes.data(), bytes.size());
  RandomProgram program(&choices, graph);
  switch (mutator->Below(7)) {
    case 6:
      if (graph->node_size() > 0) {
        program.Repeat(graph->node(mutator->Below(graph->node_size())), 1 + mutator->Below(12));
      }
      return;
    case 0:
      if (graph->library().function_size() == 0) program.AddFunctions();
      return;
    case 1:
      if (graph->node_size() > 0) program.ChangeAttr(graph->mutable_node(mutator->Below(graph->node_size())));
      return;
    default:
      program.AddNode();
  }
}

bool IsHarmless(const proto::GraphDef& graph) {
  const auto harmless = [](const auto& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [](const proto::NodeDef& node) { return IsHarmless(node.op()); });
  };
  return harmless(graph.node()) &&
         std::all_of(graph.library().function().begin(), graph.library().function().end(),
                     [&](const proto::FunctionDef& function) { return harmless(function.node_def()); });
}

}  // namespace millstream::testing
