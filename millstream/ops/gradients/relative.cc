// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/gradients/relative.h"

#include <string>
#include <utility>

namespace millstream {

Output Relative(const GradContext& g, const char* type, std::vector<Output> inputs,
                std::initializer_list<const char*> names) {
  std::vector<std::pair<std::string, AttrValue>> attrs;
  for (const char* name : names) {
    if (const AttrValue* value = g.node().attrs().Find(name)) attrs.emplace_back(name, *value);
  }
  Node* node = g.scope().Add(type, std::move(inputs), std::move(attrs));
  return node == nullptr ? Output() : Output(node, 0);
}

}  // namespace millstream
