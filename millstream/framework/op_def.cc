// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op_def.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

// A graph could ask for a billion outputs by one attribute; no real op has more than a few thousand.
constexpr int64_t kMaxArgs = 1 << 20;

Status ArgSize(const ArgDef& arg, const AttrMap& attrs, int64_t* count, const std::vector<DType>** list) {
  *count = 1;
  *list = nullptr;
  if (!arg.number_attr.empty()) {
    RETURN_IF_ERROR(attrs.Get(arg.number_attr, count));
    if (*count < 0 || *count > kMaxArgs) {
      return errors::InvalidArgument("Attr '", arg.number_attr, "' of ", *count, " is out of range for argument '",
                                     arg.name, "'");
    }
  } else if (!arg.type_list_attr.empty()) {
    const AttrValue* value = attrs.Find(arg.type_list_attr);
    if (value == nullptr) return errors::NotFound("No attr named '", arg.type_list_attr, "' in NodeDef");
    *list = value->get<AttrValue::DTypes>();
    if (*list == nullptr) return errors::InvalidArgument("Attr '", arg.type_list_attr, "' must be a list of types");
    *count = static_cast<int64_t>((*list)->size());
  }
  return OkStatus();
}

std::string ShowArg(const ArgDef& arg) {
  std::string type = !arg.type_attr.empty()        ? arg.type_attr
                     : !arg.type_list_attr.empty() ? arg.type_list_attr
                                                   : DTypeName(arg.type);
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, "*", type);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  return absl::StrCat(arg.name, ": ", type);
}

std::string ShowArgs(const std::vector<ArgDef>& args) {
  return absl::StrJoin(args, ", ", [](std::string* out, const ArgDef& a) { out->append(ShowArg(a)); });
}

}  // namespace

const AttrDef* OpDef::FindAttr(absl::string_view attr) const {
  for (const AttrDef& a : attrs) {
    if (a.name == attr) return &a;
  }
  return nullptr;
}

std::string OpDef::Signature() const {
  return absl::StrCat(name, "(", ShowArgs(inputs), ") -> (", ShowArgs(outputs), ")");
}

Status ArgTypes(const std::vector<ArgDef>& args, const AttrMap& attrs, std::vector<DType>* types) {
  for (const ArgDef& arg : args) {
    int64_t count = 0;
    const std::vector<DType>* list = nullptr;
    RETURN_IF_ERROR(ArgSize(arg, attrs, &count, &list));
    if (list != nullptr) {
      types->insert(types->end(), list->begin(), list->end());
      continue;
    }
    DType type = arg.type;
    if (!arg.type_attr.empty()) RETURN_IF_ERROR(attrs.Get(arg.type_attr, &type));
    if (arg.is_ref) type = MakeRefType(type);
    types->insert(types->end(), static_cast<size_t>(count), type);
  }
  return OkStatus();
}

Status ArgRange(const std::vector<ArgDef>& args, const AttrMap& attrs, absl::string_view name, int* begin, int* end) {
  int64_t at = 0;
  for (const ArgDef& arg : args) {
    int64_t count = 0;
    const std::vector<DType>* list = nullptr;
    RETURN_IF_ERROR(ArgSize(arg, attrs, &count, &list));
    if (arg.name == name) {
      *begin = static_cast<int>(at);
      *end = static_cast<int>(at + count);
      return OkStatus();
    }
    at += count;
  }
  return errors::NotFound("No argument named '", name, "'");
}

namespace {

Status CheckType(const AttrDef& def, DType type) {
  const DType base = RemoveRef(type);
  if (!IsKnown(base)) {
    return errors::InvalidArgument("Attr '", def.name, "' has the unknown type ", static_cast<int>(type));
  }
  if (def.allowed_types.empty() ||
      std::find(def.allowed_types.begin(), def.allowed_types.end(), type) != def.allowed_types.end()) {
    return OkStatus();
  }
  return errors::InvalidArgument(
      "Value for attr '", def.name, "' of ", DTypeName(type), " is not in the list of allowed values: ",
      absl::StrJoin(def.allowed_types, ", ", [](std::string* out, DType t) { out->append(DTypeName(t)); }));
}

Status CheckString(const AttrDef& def, const std::string& value) {
  if (def.allowed_strings.empty() ||
      std::find(def.allowed_strings.begin(), def.allowed_strings.end(), value) != def.allowed_strings.end()) {
    return OkStatus();
  }
  return errors::InvalidArgument("Value for attr '", def.name, "' of \"", value,
                                 "\" is not in the list of allowed values: \"",
                                 absl::StrJoin(def.allowed_strings, "\", \""), "\"");
}

int64_t ListSize(const AttrValue& v) {
  if (auto* p = v.get<AttrValue::Ints>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::DTypes>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::Strings>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::Floats>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::Bools>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::Shapes>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::Tensors>()) return static_cast<int64_t>(p->size());
  if (auto* p = v.get<AttrValue::Funcs>()) return static_cast<int64_t>(p->size());
  return 0;
}

}  // namespace

Status CheckAttr(const AttrDef& def, const AttrValue& value) {
  if (value.IsPlaceholder()) return OkStatus();
  const std::string kind = value.kind();
  const bool is_list = absl::StartsWith(def.type, "list(");
  if (kind != def.type && !(is_list && kind == "list()")) {
    return errors::InvalidArgument("AttrValue had value with type '", kind, "' when '", def.type,
                                   "' expected for attr '", def.name, "'");
  }
  if (const DType* type = value.get<DType>()) RETURN_IF_ERROR(CheckType(def, *type));
  if (const std::string* s = value.get<std::string>()) RETURN_IF_ERROR(CheckString(def, *s));
  if (is_list) {
    if (const auto* types = value.get<AttrValue::DTypes>())
      for (const DType t : *types) RETURN_IF_ERROR(CheckType(def, t));
    if (const auto* strings = value.get<AttrValue::Strings>())
      for (const auto& s : *strings) RETURN_IF_ERROR(CheckString(def, s));
  }
  if (def.has_minimum) {
    const int64_t* number = value.get<int64_t>();
    const int64_t size = number != nullptr ? *number : ListSize(value);
    if (size < def.minimum) {
      return errors::InvalidArgument(number != nullptr ? "Value" : "Length", " for attr '", def.name, "' of ", size,
                                     " must be at least minimum ", def.minimum);
    }
  }
  return OkStatus();
}

Status CompleteAttrs(const OpDef& def, AttrMap* attrs, bool keep_unknown) {
  for (const AttrDef& attr : def.attrs) {
    if (const AttrValue* value = attrs->Find(attr.name)) {
      RETURN_IF_ERROR(CheckAttr(attr, *value));
    } else if (!attr.default_value.empty()) {
      attrs->Set(attr.name, attr.default_value);
    } else {
      return errors::InvalidArgument("NodeDef missing attr '", attr.name, "' from Op<name=", def.name, ">");
    }
  }
  if (keep_unknown) return OkStatus();
  for (const auto& [name, value] : *attrs) {
    if (!name.empty() && name[0] != '_' && def.FindAttr(name) == nullptr) {
      return errors::InvalidArgument("NodeDef mentions attr '", name, "' not in Op<name=", def.name, ">");
    }
  }
  return OkStatus();
}

}  // namespace millstream
