// SPDX-License-Identifier: Apache-2.0
// Graphs from and to TensorFlow's messages.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "millstream/graph/export.h"
#include "millstream/graph/import.h"
#include "millstream/proto/graph.pb.h"
#include "python/src/errors.h"
#include "python/src/graph.h"

namespace millstream::python {
namespace {

nb::bytes Serialize(const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (!message.SerializeToString(&bytes)) throw nb::value_error("the message is larger than 2 GiB");
  return nb::bytes(bytes.data(), bytes.size());
}

nb::bytes ToGraphDef(const PyGraph& g, int from_id, bool strip_defaults) {
  proto::GraphDef def;
  ExportOptions options;
  options.strip_default_attrs = strip_defaults;
  if (from_id <= 0) {
    Check(ExportGraph(g.graph(), &def, options));
    return Serialize(def);
  }
  for (int id = from_id; id < g.graph().id_limit(); ++id) {
    const auto& node = g.graph().nodes()[id];
    if (node != nullptr) Check(ExportNode(*node, def.add_node(), options));
  }
  def.mutable_versions()->set_producer(kGraphDefVersion);
  return Serialize(def);
}

nb::bytes ToNodeDef(const PyGraph& g, int id) {
  proto::NodeDef def;
  Check(ExportNode(*g.node(id), &def));
  return Serialize(def);
}

// "^node", "node" or "node:1", with the mapping and the prefix of an import.
std::string MapInput(const std::string& input, const std::string& prefix, const std::map<std::string, std::string>& map,
                     std::map<std::string, bool>* used) {
  std::string key = input;
  if (!absl::StartsWith(key, "^") && !absl::StrContains(key, ':')) key += ":0";
  if (auto it = map.find(key); it != map.end()) {
    (*used)[key] = true;
    return it->second;
  }
  if (absl::StartsWith(input, "^")) return absl::StrCat("^", prefix, input.substr(1));
  return prefix + input;
}

void Rename(proto::GraphDef* def, const std::string& prefix, const std::map<std::string, std::string>& map,
            std::map<std::string, bool>* used) {
  for (proto::NodeDef& node : *def->mutable_node()) {
    node.set_name(prefix + node.name());
    for (std::string& input : *node.mutable_input()) input = MapInput(input, prefix, map, used);
    if (prefix.empty()) continue;
    auto it = node.mutable_attr()->find("_class");
    if (it == node.mutable_attr()->end()) continue;
    for (std::string& s : *it->second.mutable_list()->mutable_s()) {
      if (absl::StartsWith(s, "loc:@")) s = absl::StrCat("loc:@", prefix, s.substr(5));
    }
  }
}

Status AddShapes(PyGraph& g, int first) {
  ASSIGN_OR_RETURN(std::vector<Node*> order, g.graph().TopologicalOrder());
  for (const Node* node : order) {
    if (node->id() >= first) RETURN_IF_ERROR(g.shapes().AddNode(*node));
  }
  return OkStatus();
}

// Returns the keys of `map` that nothing used.
nb::list Import(PyGraph& g, nb::bytes bytes, const std::string& prefix, const std::map<std::string, std::string>& map) {
  proto::GraphDef def;
  if (!def.ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) throw nb::value_error("not a GraphDef");
  std::map<std::string, bool> used;
  if (!prefix.empty() || !map.empty()) Rename(&def, prefix, map, &used);
  const int first = g.graph().id_limit();
  Check(ImportGraph(def, ImportOptions(), &g.graph()));
  if (Status s = AddShapes(g, first); !s.ok()) {
    g.graph().RemoveNodesFrom(first);
    Check(s);
  }
  nb::list unused;
  for (const auto& [key, to] : map) {
    if (!used.contains(key)) unused.append(key);
  }
  return unused;
}

}  // namespace

void BindGraphMessages(nb::class_<PyGraph>& c) {
  c.def("to_graph_def", &ToGraphDef, nb::arg("from_id") = 0, nb::arg("strip_defaults") = false)
      .def("to_node_def", &ToNodeDef)
      .def("import_graph_def", &Import);
}

}  // namespace millstream::python
