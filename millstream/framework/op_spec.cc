// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op_spec.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace millstream {
namespace {

absl::string_view Trim(absl::string_view s) { return absl::StripAsciiWhitespace(s); }

Status Split(absl::string_view spec, absl::string_view* name, absl::string_view* rest) {
  const size_t colon = spec.find(':');
  if (colon == absl::string_view::npos) return errors::InvalidArgument("expected 'name: ...'");
  *name = Trim(spec.substr(0, colon));
  *rest = Trim(spec.substr(colon + 1));
  return OkStatus();
}

const std::vector<DType>& NamedTypes(absl::string_view name) {
  static const std::vector<DType> kReal = {DType::kFloat,  DType::kDouble, DType::kInt32,  DType::kUint8,
                                           DType::kInt16,  DType::kInt8,   DType::kInt64,  DType::kBfloat16,
                                           DType::kUint16, DType::kHalf,   DType::kUint32, DType::kUint64};
  static const std::vector<DType> kNumber = {DType::kFloat,  DType::kDouble,  DType::kInt32,     DType::kUint8,
                                             DType::kInt16,  DType::kInt8,    DType::kComplex64, DType::kInt64,
                                             DType::kQint8,  DType::kQuint8,  DType::kQint32,    DType::kBfloat16,
                                             DType::kQint16, DType::kQuint16, DType::kUint16,    DType::kComplex128,
                                             DType::kHalf,   DType::kUint32,  DType::kUint64};
  static const std::vector<DType> kNone;
  if (name == "realnumbertype") return kReal;
  if (name == "numbertype") return kNumber;
  return kNone;
}

StatusOr<DType> ParseDType(absl::string_view name) {
  name = Trim(name);
  std::string lower = absl::AsciiStrToLower(name);
  if (absl::StartsWith(lower, "dt_")) lower = lower.substr(3);
  const DType type = DTypeFromName(lower);
  if (type == DType::kInvalid) return errors::InvalidArgument("unknown type '", name, "'");
  return type;
}

std::string Unquote(absl::string_view s) {
  s = Trim(s);
  if (s.size() >= 2 && (s.front() == '\'' || s.front() == '"')) s = s.substr(1, s.size() - 2);
  return std::string(s);
}

// "{a, b}" or "[a, b]" without the brackets; empty items dropped.
std::vector<absl::string_view> Items(absl::string_view s) {
  std::vector<absl::string_view> items;
  for (absl::string_view item : absl::StrSplit(s.substr(1, s.size() - 2), ',')) {
    if (!Trim(item).empty()) items.push_back(Trim(item));
  }
  return items;
}

StatusOr<PartialShape> ParseShape(absl::string_view text) {
  text = Trim(text);
  if (absl::StrContains(text, "unknown_rank")) return PartialShape::Unknown();
  if (text == "{}" || text == "[]") return PartialShape(std::vector<int64_t>{});
  if (text.empty() || text.front() != '[') return errors::InvalidArgument("expected a shape, got '", text, "'");
  std::vector<int64_t> dims;
  for (absl::string_view item : Items(text)) {
    int64_t d = 0;
    if (!absl::SimpleAtoi(item, &d)) return errors::InvalidArgument("bad size '", item, "'");
    dims.push_back(d);
  }
  return PartialShape::Make(dims);
}

StatusOr<AttrValue> ParseScalarDefault(absl::string_view type, absl::string_view text) {
  if (type == "int") {
    int64_t v = 0;
    if (absl::SimpleAtoi(text, &v)) return AttrValue(v);
  } else if (type == "float") {
    float v = 0;
    if (absl::SimpleAtof(text, &v)) return AttrValue(v);
  } else if (type == "bool") {
    if (text == "true" || text == "false") return AttrValue(text == "true");
  } else if (type == "string") {
    return AttrValue(Unquote(text));
  } else if (type == "type") {
    ASSIGN_OR_RETURN(DType t, ParseDType(text));
    return AttrValue(t);
  } else if (type == "shape") {
    ASSIGN_OR_RETURN(PartialShape s, ParseShape(text));
    return AttrValue(std::move(s));
  }
  return errors::InvalidArgument("bad default '", text, "' for ", type);
}

// "uint8[255, 0, 0, 255]": a vector.
StatusOr<AttrValue> ParseTensorDefault(absl::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == absl::string_view::npos || text.back() != ']') {
    return errors::InvalidArgument("expected type[...], got '", text, "'");
  }
  ASSIGN_OR_RETURN(const DType type, ParseDType(text.substr(0, bracket)));
  if (type != DType::kUint8) return errors::InvalidArgument("no tensor defaults of type ", DTypeName(type));
  std::vector<uint8_t> values;
  for (absl::string_view item : Items(text.substr(bracket))) {
    int32_t v = 0;
    if (!absl::SimpleAtoi(item, &v) || v < 0 || v > 255) return errors::InvalidArgument("bad element '", item, "'");
    values.push_back(static_cast<uint8_t>(v));
  }
  return AttrValue(Tensor::Vector(values));
}

template <typename T>
StatusOr<AttrValue> CollectList(absl::string_view element, const std::vector<absl::string_view>& items) {
  std::vector<T> values;
  for (absl::string_view item : items) {
    ASSIGN_OR_RETURN(AttrValue v, ParseScalarDefault(element, item));
    values.push_back(*v.get<T>());
  }
  return AttrValue(std::move(values));
}

StatusOr<AttrValue> ParseDefault(absl::string_view type, absl::string_view text) {
  if (type == "tensor") return ParseTensorDefault(text);
  if (!absl::ConsumePrefix(&type, "list(")) return ParseScalarDefault(type, text);
  const absl::string_view element = type.substr(0, type.size() - 1);
  if (text.size() < 2 || text.front() != '[') return errors::InvalidArgument("expected [...], got '", text, "'");
  const auto items = Items(text);
  if (items.empty()) return AttrValue(AttrValue::EmptyList{});
  if (element == "int") return CollectList<int64_t>(element, items);
  if (element == "float") return CollectList<float>(element, items);
  if (element == "bool") return CollectList<bool>(element, items);
  if (element == "string") return CollectList<std::string>(element, items);
  if (element == "type") return CollectList<DType>(element, items);
  return errors::InvalidArgument("no defaults for list(", element, ")");
}

// The type part: a kind, a set of allowed values, or list(...) of either.
Status ParseKind(absl::string_view text, AttrDef* attr) {
  text = Trim(text);
  absl::string_view inner = text;
  bool list = false;
  if (absl::ConsumePrefix(&inner, "list(")) {
    list = true;
    inner = Trim(inner.substr(0, inner.size() - 1));
  }
  std::string kind(inner);
  if (!NamedTypes(inner).empty()) {
    attr->allowed_types = NamedTypes(inner);
    kind = "type";
  } else if (!inner.empty() && inner.front() == '{') {
    const auto items = Items(inner);
    const bool strings = !items.empty() && (items[0].front() == '\'' || items[0].front() == '"');
    for (absl::string_view item : items) {
      if (strings) {
        attr->allowed_strings.push_back(Unquote(item));
      } else {
        ASSIGN_OR_RETURN(DType t, ParseDType(item));
        attr->allowed_types.push_back(t);
      }
    }
    kind = strings ? "string" : "type";
  }
  static constexpr absl::string_view kKinds[] = {"int", "float", "bool", "string", "type", "shape", "tensor", "func"};
  for (absl::string_view known : kKinds) {
    if (kind == known) {
      attr->type = list ? absl::StrCat("list(", kind, ")") : kind;
      return OkStatus();
    }
  }
  return errors::InvalidArgument("unknown attr type '", text, "'");
}

bool IsIdentifier(absl::string_view text) {
  const auto fits = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

StatusOr<ArgDef> ParseArgSpec(absl::string_view spec) {
  absl::string_view name, rest;
  RETURN_IF_ERROR(Split(spec, &name, &rest));
  ArgDef arg;
  arg.name = std::string(name);
  if (absl::ConsumePrefix(&rest, "Ref(")) {
    arg.is_ref = true;
    if (!absl::ConsumeSuffix(&rest, ")")) return errors::InvalidArgument("expected ')' after 'Ref('");
    rest = Trim(rest);
  }
  const size_t star = rest.find('*');
  if (star != absl::string_view::npos) {
    arg.number_attr = std::string(Trim(rest.substr(0, star)));
    if (!IsIdentifier(arg.number_attr)) return errors::InvalidArgument("expected an attribute before '*'");
    rest = Trim(rest.substr(star + 1));
  }
  if (!IsIdentifier(name) || !IsIdentifier(rest)) return errors::InvalidArgument("expected 'name: type'");
  const DType type = DTypeFromName(rest);
  if (type != DType::kInvalid)
    arg.type = type;
  else
    arg.type_attr = std::string(rest);
  return arg;
}

StatusOr<AttrDef> ParseAttrSpec(absl::string_view spec) {
  absl::string_view name, rest;
  RETURN_IF_ERROR(Split(spec, &name, &rest));
  AttrDef attr;
  attr.name = std::string(name);
  std::string default_text;
  // " = default" after the type; "{...}" sets never contain '=', ">=" does.
  size_t eq = rest.rfind(" = ");
  if (eq != absl::string_view::npos) {
    default_text = std::string(Trim(rest.substr(eq + 3)));
    rest = Trim(rest.substr(0, eq));
  }
  const size_t min = rest.find(">=");
  if (min != absl::string_view::npos) {
    if (!absl::SimpleAtoi(Trim(rest.substr(min + 2)), &attr.minimum)) return errors::InvalidArgument("bad minimum");
    attr.has_minimum = true;
    rest = Trim(rest.substr(0, min));
  }
  RETURN_IF_ERROR(ParseKind(rest, &attr));
  if (!default_text.empty()) {
    ASSIGN_OR_RETURN(attr.default_value, ParseDefault(attr.type, default_text));
  }
  return attr;
}

void ResolveArgs(OpDef* def) {
  for (auto* args : {&def->inputs, &def->outputs}) {
    for (ArgDef& arg : *args) {
      const AttrDef* attr = arg.type_attr.empty() ? nullptr : def->FindAttr(arg.type_attr);
      if (attr != nullptr && attr->type == "list(type)")
        arg.type_list_attr = std::move(arg.type_attr), arg.type_attr.clear();
    }
  }
}

}  // namespace millstream
