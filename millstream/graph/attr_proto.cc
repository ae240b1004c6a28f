// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/attr_proto.h"

#include <algorithm>

#include "millstream/proto/attr_value.pb.h"
#include "millstream/proto/op_def.pb.h"

namespace millstream {
namespace {

using proto::AttrValue_ListValue;

// Functions in attributes of functions: deeper than anything sensible, far from the end of the stack.
constexpr int kMaxDepth = 32;

StatusOr<AttrValue> Decode(const proto::AttrValue& proto, const TensorDecodeOptions& options, int depth);

StatusOr<DType> DecodeType(int number) {
  const DType type = DTypeFromProto(number);
  if (type == DType::kInvalid && number != 0)
    return errors::InvalidArgument("AttrValue has invalid DataType enum: ", number);
  return type;
}

StatusOr<Tensor> DecodeTensor(const proto::TensorProto& proto, const TensorDecodeOptions& options) {
  StatusOr<Tensor> tensor = TensorFromProto(proto, options);
  if (!tensor.ok()) return WithContext(tensor.status(), "Cannot parse tensor from proto");
  return tensor;
}

StatusOr<NameAttrList> DecodeFunc(const proto::NameAttrList& proto, const TensorDecodeOptions& options, int depth) {
  if (depth > kMaxDepth)
    return errors::InvalidArgument("functions in attributes are nested more than ", kMaxDepth, " deep");
  NameAttrList func;
  func.name = proto.name();
  for (const auto& [name, value] : proto.attr()) {
    ASSIGN_OR_RETURN(AttrValue decoded, Decode(value, options, depth + 1));
    func.attrs.emplace_back(name, std::move(decoded));
  }
  // The order of a protobuf map is arbitrary.
  std::sort(func.attrs.begin(), func.attrs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return func;
}

// A list of messages, each decoded by `fn`.
template <typename T, typename Field, typename Fn>
StatusOr<AttrValue> DecodeEach(const Field& field, Fn fn) {
  std::vector<T> values;
  values.reserve(static_cast<size_t>(field.size()));
  for (const auto& from : field) {
    ASSIGN_OR_RETURN(T value, fn(from));
    values.push_back(std::move(value));
  }
  return AttrValue(std::move(values));
}

StatusOr<AttrValue> DecodeList(const AttrValue_ListValue& l, const TensorDecodeOptions& options, int depth) {
  const int kinds = (l.s_size() > 0) + (l.i_size() > 0) + (l.f_size() > 0) + (l.b_size() > 0) + (l.type_size() > 0) +
                    (l.shape_size() > 0) + (l.tensor_size() > 0) + (l.func_size() > 0);
  if (kinds == 0) return AttrValue(AttrValue::EmptyList{});
  if (kinds > 1) return errors::InvalidArgument("AttrValue has a list with values of ", kinds, " kinds");
  if (l.s_size() > 0) return AttrValue(AttrValue::Strings(l.s().begin(), l.s().end()));
  if (l.i_size() > 0) return AttrValue(AttrValue::Ints(l.i().begin(), l.i().end()));
  if (l.f_size() > 0) return AttrValue(AttrValue::Floats(l.f().begin(), l.f().end()));
  if (l.b_size() > 0) return AttrValue(AttrValue::Bools(l.b().begin(), l.b().end()));
  if (l.type_size() > 0) return DecodeEach<DType>(l.type(), [](int number) { return DecodeType(number); });
  if (l.shape_size() > 0) return DecodeEach<PartialShape>(l.shape(), PartialShapeFromProto);
  if (l.tensor_size() > 0) {
    return DecodeEach<Tensor>(l.tensor(), [&](const auto& t) { return DecodeTensor(t, options); });
  }
  return DecodeEach<NameAttrList>(l.func(), [&](const auto& f) { return DecodeFunc(f, options, depth); });
}

StatusOr<AttrValue> Decode(const proto::AttrValue& proto, const TensorDecodeOptions& options, int depth) {
  const auto wrap = [](auto value) -> StatusOr<AttrValue> {
    if (!value.ok()) return value.status();
    return AttrValue(*std::move(value));
  };
  switch (proto.value_case()) {
    case proto::AttrValue::kS:
      return AttrValue(proto.s());
    case proto::AttrValue::kI:
      return AttrValue(int64_t{proto.i()});
    case proto::AttrValue::kF:
      return AttrValue(proto.f());
    case proto::AttrValue::kB:
      return AttrValue(proto.b());
    case proto::AttrValue::kType:
      return wrap(DecodeType(proto.type()));
    case proto::AttrValue::kShape:
      return wrap(PartialShapeFromProto(proto.shape()));
    case proto::AttrValue::kTensor:
      return wrap(DecodeTensor(proto.tensor(), options));
    case proto::AttrValue::kList:
      return DecodeList(proto.list(), options, depth);
    case proto::AttrValue::kFunc:
      return wrap(DecodeFunc(proto.func(), options, depth));
    case proto::AttrValue::kPlaceholder:
      return AttrValue(AttrValue::Placeholder{proto.placeholder()});
    case proto::AttrValue::VALUE_NOT_SET:
      break;
  }
  return AttrValue();
}

Status EncodeList(const AttrValue& value, AttrValue_ListValue* to, const TensorEncodeOptions& options) {
  if (value.kind() == "list()") return OkStatus();
  if (const auto* v = value.get<AttrValue::Strings>())
    for (const auto& s : *v) to->add_s(s);
  if (const auto* v = value.get<AttrValue::Ints>()) to->mutable_i()->Add(v->begin(), v->end());
  if (const auto* v = value.get<AttrValue::Floats>()) to->mutable_f()->Add(v->begin(), v->end());
  if (const auto* v = value.get<AttrValue::Bools>())
    for (const bool b : *v) to->add_b(b);
  if (const auto* v = value.get<AttrValue::DTypes>()) {
    for (const DType t : *v) to->add_type(static_cast<proto::DataType>(t));
  }
  if (const auto* v = value.get<AttrValue::Shapes>())
    for (const auto& s : *v) ShapeToProto(s, to->add_shape());
  if (const auto* v = value.get<AttrValue::Tensors>()) {
    for (const Tensor& t : *v) RETURN_IF_ERROR(TensorToProto(t, to->add_tensor(), options));
  }
  if (const auto* v = value.get<AttrValue::Funcs>()) {
    for (const NameAttrList& f : *v) RETURN_IF_ERROR(FuncToProto(f, to->add_func(), options));
  }
  return OkStatus();
}

Status UnboundPlaceholder(const std::string& name) {
  return errors::InvalidArgument("Failed to bind '", name, "' in placeholder");
}

StatusOr<NameAttrList> BindFunc(const NameAttrList& func, const AttrMap& bindings) {
  NameAttrList bound;
  bound.name = func.name;
  for (const auto& [name, value] : func.attrs) {
    ASSIGN_OR_RETURN(AttrValue v, BindPlaceholders(value, bindings));
    bound.attrs.emplace_back(name, std::move(v));
  }
  return bound;
}

}  // namespace

StatusOr<AttrValue> AttrFromProto(const proto::AttrValue& proto, const TensorDecodeOptions& options) {
  return Decode(proto, options, 0);
}

StatusOr<NameAttrList> FuncFromProto(const proto::NameAttrList& proto, const TensorDecodeOptions& options) {
  return DecodeFunc(proto, options, 0);
}

Status AttrToProto(const AttrValue& value, proto::AttrValue* proto, const TensorEncodeOptions& options) {
  proto->Clear();
  if (value.empty()) return OkStatus();
  if (const auto* v = value.get<bool>())
    proto->set_b(*v);
  else if (const auto* v = value.get<int64_t>())
    proto->set_i(*v);
  else if (const auto* v = value.get<float>())
    proto->set_f(*v);
  else if (const auto* v = value.get<DType>())
    proto->set_type(static_cast<proto::DataType>(*v));
  else if (const auto* v = value.get<std::string>())
    proto->set_s(*v);
  else if (const auto* v = value.get<PartialShape>())
    ShapeToProto(*v, proto->mutable_shape());
  else if (const auto* v = value.get<Tensor>())
    return TensorToProto(*v, proto->mutable_tensor(), options);
  else if (const auto* v = value.get<NameAttrList>())
    return FuncToProto(*v, proto->mutable_func(), options);
  else if (const auto* v = value.get<AttrValue::Placeholder>())
    proto->set_placeholder(v->name);
  else
    return EncodeList(value, proto->mutable_list(), options);
  return OkStatus();
}

Status FuncToProto(const NameAttrList& func, proto::NameAttrList* proto, const TensorEncodeOptions& options) {
  proto->Clear();
  proto->set_name(func.name);
  for (const auto& [name, value] : func.attrs) {
    RETURN_IF_ERROR(AttrToProto(value, &(*proto->mutable_attr())[name], options));
  }
  return OkStatus();
}

StatusOr<AttrValue> BindPlaceholders(const AttrValue& value, const AttrMap& bindings) {
  if (const auto* placeholder = value.get<AttrValue::Placeholder>()) {
    const AttrValue* bound = bindings.Find(placeholder->name);
    if (bound == nullptr || bound->IsPlaceholder()) return UnboundPlaceholder(placeholder->name);
    return *bound;
  }
  if (const auto* func = value.get<NameAttrList>()) {
    ASSIGN_OR_RETURN(NameAttrList bound, BindFunc(*func, bindings));
    return AttrValue(std::move(bound));
  }
  const auto* funcs = value.get<AttrValue::Funcs>();
  if (funcs == nullptr || funcs->empty()) return value;
  AttrValue::Funcs bound;
  for (const NameAttrList& f : *funcs) {
    ASSIGN_OR_RETURN(NameAttrList b, BindFunc(f, bindings));
    bound.push_back(std::move(b));
  }
  return AttrValue(std::move(bound));
}

namespace {

StatusOr<ArgDef> ArgFromProto(const proto::OpDef_ArgDef& proto) {
  ArgDef arg;
  arg.name = proto.name();
  arg.type_attr = proto.type_attr();
  arg.number_attr = proto.number_attr();
  arg.type_list_attr = proto.type_list_attr();
  arg.is_ref = proto.is_ref();
  if (proto.type() != 0) {
    arg.type = DTypeFromProto(proto.type());
    if (IsRef(arg.type)) {
      arg.type = RemoveRef(arg.type);
      arg.is_ref = true;
    }
  }
  const int ways = (proto.type() != 0) + !arg.type_attr.empty() + !arg.type_list_attr.empty();
  if (arg.name.empty() || ways != 1 || (proto.type() != 0 && arg.type == DType::kInvalid)) {
    return errors::InvalidArgument("Argument '", arg.name, "' has no name or no single valid type");
  }
  if (!arg.number_attr.empty() && !arg.type_list_attr.empty()) {
    return errors::InvalidArgument("Argument '", arg.name, "' has both a number and a list of types");
  }
  return arg;
}

StatusOr<AttrDef> AttrDefFromProto(const proto::OpDef_AttrDef& proto) {
  AttrDef def;
  def.name = proto.name();
  def.type = proto.type();
  def.has_minimum = proto.has_minimum();
  def.minimum = proto.minimum();
  if (proto.has_default_value()) {
    ASSIGN_OR_RETURN(def.default_value, AttrFromProto(proto.default_value()));
  }
  ASSIGN_OR_RETURN(const AttrValue allowed, AttrFromProto(proto.allowed_values()));
  if (const auto* types = allowed.get<AttrValue::DTypes>()) def.allowed_types = *types;
  if (const auto* strings = allowed.get<AttrValue::Strings>()) def.allowed_strings = *strings;
  return def;
}

void ArgToProto(const ArgDef& arg, proto::OpDef_ArgDef* to) {
  to->set_name(arg.name);
  to->set_type(static_cast<proto::DataType>(arg.type));
  to->set_type_attr(arg.type_attr);
  to->set_number_attr(arg.number_attr);
  to->set_type_list_attr(arg.type_list_attr);
  to->set_is_ref(arg.is_ref);
}

}  // namespace

StatusOr<OpDef> OpDefFromProto(const proto::OpDef& proto) {
  OpDef def;
  def.name = proto.name();
  for (const auto& from : proto.input_arg()) {
    ASSIGN_OR_RETURN(ArgDef arg, ArgFromProto(from));
    def.inputs.push_back(std::move(arg));
  }
  for (const auto& from : proto.output_arg()) {
    ASSIGN_OR_RETURN(ArgDef arg, ArgFromProto(from));
    def.outputs.push_back(std::move(arg));
  }
  for (const auto& from : proto.attr()) {
    ASSIGN_OR_RETURN(AttrDef attr, AttrDefFromProto(from));
    def.attrs.push_back(std::move(attr));
  }
  def.doc = proto.summary();
  def.stateful = proto.is_stateful();
  def.commutative = proto.is_commutative();
  def.aggregate = proto.is_aggregate();
  def.allows_uninitialized_input = proto.allows_uninitialized_input();
  return def;
}

Status OpDefToProto(const OpDef& def, proto::OpDef* proto) {
  proto->Clear();
  proto->set_name(def.name);
  for (const ArgDef& arg : def.inputs) ArgToProto(arg, proto->add_input_arg());
  for (const ArgDef& arg : def.outputs) ArgToProto(arg, proto->add_output_arg());
  for (const AttrDef& attr : def.attrs) {
    auto* to = proto->add_attr();
    to->set_name(attr.name);
    to->set_type(attr.type);
    if (!attr.default_value.empty()) RETURN_IF_ERROR(AttrToProto(attr.default_value, to->mutable_default_value()));
    to->set_has_minimum(attr.has_minimum);
    to->set_minimum(attr.minimum);
    for (const DType t : attr.allowed_types)
      to->mutable_allowed_values()->mutable_list()->add_type(static_cast<proto::DataType>(t));
    for (const auto& s : attr.allowed_strings) to->mutable_allowed_values()->mutable_list()->add_s(s);
  }
  proto->set_summary(def.doc);
  proto->set_is_stateful(def.stateful);
  proto->set_is_commutative(def.commutative);
  proto->set_is_aggregate(def.aggregate);
  proto->set_allows_uninitialized_input(def.allows_uninitialized_input);
  return OkStatus();
}

}  // namespace millstream
