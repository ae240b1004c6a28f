// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/precision_class.h"

#include <string>

#include "absl/container/flat_hash_map.h"

namespace millstream {
namespace {

absl::flat_hash_map<std::string, PrecisionClass>& KnownClasses() {
  static auto* const classes = new absl::flat_hash_map<std::string, PrecisionClass>();
  return *classes;
}

}  // namespace

std::optional<PrecisionClass> FindPrecisionClass(absl::string_view op) {
  const auto& classes = KnownClasses();
  const auto it = classes.find(op);
  return it == classes.end() ? std::nullopt : std::optional(it->second);
}

void AddPrecisionClass(absl::string_view op, PrecisionClass what) {
  KnownClasses()[std::string(op.data(), op.size())] = what;
}

}  // namespace millstream
