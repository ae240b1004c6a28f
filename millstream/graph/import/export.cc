// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/import/export.h"

#include "millstream/graph/attr_proto.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/variables/save_slice.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/proto/meta_graph.pb.h"

namespace millstream {
namespace {

bool IsDefault(const Node& node, absl::string_view name, const AttrValue& value) {
  const AttrDef* def = node.op().def.FindAttr(name);
  return def != nullptr && !def->default_value.empty() && def->default_value == value;
}

Status AddInputs(const Node& node, proto::NodeDef* def) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& in = node.input(i);
    if (in.node == nullptr) return errors::InvalidArgument("Node '", node.name(), "': input ", i, " is missing");
    def->add_input(in.index == 0 ? in.node->name() : in.name());
  }
  for (const Node* in : node.control_inputs()) def->add_input(absl::StrCat("^", in->name()));
  return OkStatus();
}

void AddCollection(const CollectionValues& values, proto::CollectionDef* to) {
  for (const auto& v : values.names) to->mutable_node_list()->add_value(v);
  for (const auto& v : values.bytes) to->mutable_bytes_list()->add_value(v);
  for (const auto v : values.ints) to->mutable_int64_list()->add_value(v);
  for (const auto v : values.floats) to->mutable_float_list()->add_value(v);
}

}  // namespace

Status ExportNode(const Node& node, proto::NodeDef* def, const ExportOptions& options) {
  def->Clear();
  def->set_name(node.name());
  def->set_op(node.type());
  const absl::string_view device = options.assigned_devices ? node.assigned_device() : node.device();
  def->set_device(device.data(), device.size());
  RETURN_IF_ERROR(AddInputs(node, def));
  for (const auto& [name, value] : node.attrs()) {
    if (name == kSaveSliceAttr || (options.strip_default_attrs && IsDefault(node, name, value))) continue;
    if (Status s = AttrToProto(value, &(*def->mutable_attr())[std::string(name)]); !s.ok()) {
      return WithContext(s, absl::StrCat("Node '", node.name(), "': attr '", name, "'"));
    }
  }
  return OkStatus();
}

Status ExportGraph(const Graph& graph, proto::GraphDef* def, const ExportOptions& options) {
  def->Clear();
  def->mutable_versions()->set_producer(kGraphDefVersion);
  def->mutable_node()->Reserve(graph.num_nodes());
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) RETURN_IF_ERROR(ExportNode(*node, def->add_node(), options));
  }
  if (options.with_library && graph.library() != nullptr) graph.library()->ToProto(def->mutable_library());
  return OkStatus();
}

Status ExportMetaGraph(const Graph& graph, const std::map<std::string, CollectionValues>& collections,
                       const std::vector<std::string>& tags, proto::MetaGraphDef* def, const ExportOptions& options) {
  def->Clear();
  RETURN_IF_ERROR(ExportGraph(graph, def->mutable_graph_def(), options));
  std::map<std::string, const OpDef*> used;
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) used.emplace(node->type(), &node->op().def);
  }
  auto* info = def->mutable_meta_info_def();
  for (const auto& [name, op] : used) RETURN_IF_ERROR(OpDefToProto(*op, info->mutable_stripped_op_list()->add_op()));
  for (const std::string& tag : tags) info->add_tags(tag);
  info->set_stripped_default_attrs(options.strip_default_attrs);
  for (const auto& [name, values] : collections) AddCollection(values, &(*def->mutable_collection_def())[name]);
  return OkStatus();
}

}  // namespace millstream
