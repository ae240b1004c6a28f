// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/yaml.h"

#include <cctype>

#include "absl/strings/str_cat.h"

namespace millstream::launch {
namespace {

using Json = nlohmann::ordered_json;

// Words that need no quotes: they start with a letter or a slash and cannot be taken for another type.
bool IsPlain(const std::string& text) {
  static const auto* const reserved =
      new std::vector<std::string>{"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  std::string lower;
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (!std::isalnum(u) && c != '/' && c != '-' && c != '_' && c != '.') return false;
    lower.push_back(static_cast<char>(std::tolower(u)));
  }
  if (text.empty() || (!std::isalpha(static_cast<unsigned char>(text[0])) && text[0] != '/')) return false;
  return std::find(reserved->begin(), reserved->end(), lower) == reserved->end();
}

std::string Scalar(const Json& value) {
  if (value.is_string() && IsPlain(value.get<std::string>())) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);  // JSON's quotes and escapes are YAML's too
}

void Append(const Json& value, int indent, std::string* out);

// "key:" or "-" is written; what follows is on the same line for scalars and below for the rest.
void AppendBelow(const Json& value, int indent, std::string* out) {
  if (!value.is_structured() || value.empty()) {
    absl::StrAppend(out, " ", Scalar(value), "\n");
    return;
  }
  out->push_back('\n');
  Append(value, indent, out);
}

void Append(const Json& value, int indent, std::string* out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  if (value.is_object()) {
    for (const auto& [key, below] : value.items()) {
      absl::StrAppend(out, margin, Scalar(key), ":");
      AppendBelow(below, indent + 2, out);
    }
    return;
  }
  for (const Json& item : value) {
    if (!item.is_object() || item.empty()) {
      absl::StrAppend(out, margin, "-");
      AppendBelow(item, indent + 2, out);
      continue;
    }
    std::string block;
    Append(item, indent + 2, &block);
    block[static_cast<size_t>(indent)] = '-';  // the first key stands beside the dash
    out->append(block);
  }
}

}  // namespace

std::string ToYaml(const Json& value) {
  std::string out;
  if (value.is_structured() && !value.empty())
    Append(value, 0, &out);
  else
    out = absl::StrCat(Scalar(value), "\n");
  return out;
}

}  // namespace millstream::launch
