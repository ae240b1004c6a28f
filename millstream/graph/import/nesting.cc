// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/import/nesting.h"

#include <algorithm>

#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

constexpr int kMaxNesting = 100;  // as protobuf's own when it parses

bool IsShallow(const proto::TensorProto& tensor, int depth) {
  if (depth > kMaxNesting) return false;
  return std::all_of(tensor.variant_val().begin(), tensor.variant_val().end(), [depth](const auto& variant) {
    return std::all_of(variant.tensors().begin(), variant.tensors().end(),
                       [depth](const auto& inner) { return IsShallow(inner, depth + 1); });
  });
}

template <typename Attrs>
bool AreShallow(const Attrs& attrs, int depth);

bool IsShallow(const proto::AttrValue& value, int depth) {
  const auto tensor = [depth](const proto::TensorProto& t) { return IsShallow(t, depth); };
  const auto function = [depth](const proto::NameAttrList& f) { return AreShallow(f.attr(), depth + 1); };
  switch (value.value_case()) {
    case proto::AttrValue::kTensor:
      return tensor(value.tensor());
    case proto::AttrValue::kFunc:
      return function(value.func());
    case proto::AttrValue::kList:
      return std::all_of(value.list().tensor().begin(), value.list().tensor().end(), tensor) &&
             std::all_of(value.list().func().begin(), value.list().func().end(), function);
    default:
      return true;
  }
}

template <typename Attrs>
bool AreShallow(const Attrs& attrs, int depth) {
  if (depth > kMaxNesting) return false;
  return std::all_of(attrs.begin(), attrs.end(), [depth](const auto& attr) { return IsShallow(attr.second, depth); });
}

Status TooDeep(const std::string& name) {
  return errors::InvalidArgument("functions or tensors in attributes are nested more than ", kMaxNesting,
                                 " deep\n\t [[{{node ", name, "}}]]");
}

template <typename Nodes>
Status CheckNodes(const Nodes& nodes) {
  for (const proto::NodeDef& node : nodes)
    if (!AreShallow(node.attr(), 0)) return TooDeep(node.name());
  return OkStatus();
}

}  // namespace

Status CheckNesting(const proto::GraphDef& graph) {
  RETURN_IF_ERROR(CheckNodes(graph.node()));
  for (const proto::FunctionDef& function : graph.library().function()) {
    RETURN_IF_ERROR(CheckNodes(function.node_def()));
    bool shallow = AreShallow(function.attr(), 0);
    for (const auto& [number, attrs] : function.arg_attr()) shallow = shallow && AreShallow(attrs.attr(), 0);
    for (const auto& attr : function.signature().attr()) {
      shallow = shallow && IsShallow(attr.default_value(), 0) && IsShallow(attr.allowed_values(), 0);
    }
    if (!shallow) return TooDeep(function.signature().name());
  }
  return OkStatus();
}

}  // namespace millstream
