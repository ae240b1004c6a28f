// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_TESTING_MALFORMED_H_
#define MILLSTREAM_GRAPH_TESTING_MALFORMED_H_

#include <string>

#include "millstream/base/status.h"

namespace millstream {

inline constexpr auto kBad = absl::StatusCode::kInvalidArgument;
inline constexpr auto kUnknown = absl::StatusCode::kNotFound;
inline constexpr auto kTooBig = absl::StatusCode::kResourceExhausted;

// One program that must be refused: how its message begins, and the node or function that it names ("" for none).
struct MalformedGraph {
  const char* name;
  std::string program;  // text format
  absl::StatusCode code;
  const char* says;
  const char* names;
};
inline std::string NameOf(const MalformedGraph& m) { return m.name; }

// Imports the program and checks the error, and that the graph is left empty.
void ExpectRefused(const MalformedGraph& malformed);

// Pieces of programs in text format.
inline std::string In(const std::string& name) { return " input: '" + name + "'"; }
inline std::string Attr(const std::string& key, const std::string& value) {
  return " attr { key: '" + key + "' value { " + value + " } }";
}
inline std::string Type(const std::string& key, const std::string& type = "DT_FLOAT") {
  return Attr(key, "type: " + type);
}
inline std::string NodeText(const std::string& name, const std::string& op, const std::string& rest = "") {
  return " node { name: '" + name + "' op: '" + op + "'" + rest + " }";
}
inline std::string Placeholder(const std::string& name, const std::string& type = "DT_FLOAT") {
  return NodeText(name, "Placeholder", Type("dtype", type));
}
inline std::string Neg(const std::string& name, const std::string& input) {
  return NodeText(name, "Neg", In(input) + Type("T"));
}

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_TESTING_MALFORMED_H_
