// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/element_ops.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

namespace millstream {
namespace {

absl::flat_hash_map<std::string, ElementOp>& KnownElementOps() {
  static auto* const ops = new absl::flat_hash_map<std::string, ElementOp>();
  return *ops;
}

}  // namespace

const ElementOp* FindElementOp(absl::string_view op) {
  const auto& ops = KnownElementOps();
  const auto it = ops.find(op);
  return it == ops.end() ? nullptr : &it->second;
}

void AddElementOp(absl::string_view op, ElementOp what) {
  KnownElementOps()[std::string(op.data(), op.size())] = std::move(what);
}

}  // namespace millstream
