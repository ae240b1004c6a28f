// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_JSON_TEXT_H_
#define MILLSTREAM_STATUS_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace millstream {

using Json = nlohmann::ordered_json;

// Never throws: names and messages may hold any bytes. Numbers that JSON cannot say (NaN) become null.
inline std::string ToText(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Null-typed ("discarded") if it is not JSON. Of other tasks, so anything may come.
inline Json ParseJson(const std::string& text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

// Members of what may not be an object, or not have them: null, "", 0, false.
inline const Json& MemberOf(const Json& json, const char* key) {
  static const auto* const none = new Json();
  if (!json.is_object()) return *none;
  const auto found = json.find(key);
  return found == json.end() ? *none : *found;
}
inline std::string TextOf(const Json& json, const char* key) {
  const Json& member = MemberOf(json, key);
  return member.is_string() ? member.get<std::string>() : "";
}
inline double NumberOf(const Json& json, const char* key) {
  const Json& member = MemberOf(json, key);
  return member.is_number() ? member.get<double>() : 0;
}
inline bool BoolOf(const Json& json, const char* key) {
  const Json& member = MemberOf(json, key);
  return member.is_boolean() && member.get<bool>();
}

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_JSON_TEXT_H_
