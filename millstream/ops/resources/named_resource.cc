// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/resources/named_resource.h"

#include "absl/strings/str_join.h"

namespace millstream {

std::string TypeNames(const std::vector<DType>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DType t) { out->append(DTypeName(t)); });
}

std::string ShapeNames(const std::vector<PartialShape>& shapes) {
  return absl::StrCat(
      "[", absl::StrJoin(shapes, ",", [](std::string* out, const PartialShape& s) { out->append(s.ToString()); }), "]");
}

Status StringHandleShape(ShapeContext& c) {
  c.set_output(0, PartialShape({2}));
  return OkStatus();
}

ResourceName::ResourceName(KernelInit& init)
    : container(init.Attr<std::string>("container")), name(init.Attr<std::string>("shared_name")) {
  if (container.empty()) container = init.resources()->default_container();
  if (name.empty() && init.HasAttr("use_node_name_sharing") && init.Attr<bool>("use_node_name_sharing"))
    name = init.node_name();
  is_private = name.empty();
  if (is_private) name = absl::StrCat(init.resources()->UniqueName(""), "_", init.node_name());
}

}  // namespace millstream
