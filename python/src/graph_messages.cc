// SPDX-License-Identifier: Apache-2.0
// Graphs from and to TensorFlow's messages.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/import/import.h"
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

// How the names of a graph change when it is imported: by a prefix, by the caller's map from inputs to what there is,
// and, without a prefix, where a name is taken.
struct Renaming {
  const std::string& prefix;
  const std::map<std::string, std::string>& map;
  std::map<std::string, std::string> taken;
  std::set<std::string> used;  // keys of `map`

  std::string Node(const std::string& name) const {
    auto it = taken.find(name);
    return it != taken.end() ? it->second : prefix + name;
  }
  // "^node", "node" or "node:1"
  std::string Input(const std::string& input) {
    const bool control = absl::StartsWith(input, "^");
    const std::string key = control || absl::StrContains(input, ':') ? input : input + ":0";
    if (auto it = map.find(key); it != map.end()) {
      used.insert(key);
      return it->second;
    }
    if (control) return "^" + Node(input.substr(1));
    const size_t colon = input.rfind(':');
    return colon == std::string::npos ? Node(input) : Node(input.substr(0, colon)) + input.substr(colon);
  }
};

void FindTakenNames(const Graph& graph, const proto::GraphDef& def, Renaming* renaming) {
  std::set<std::string> own;
  for (const proto::NodeDef& node : def.node()) own.insert(renaming->prefix + node.name());
  for (const proto::NodeDef& node : def.node()) {
    const std::string name = renaming->prefix + node.name();
    if (graph.Find(name) == nullptr) continue;
    for (int i = 1;; ++i) {
      std::string candidate = absl::StrCat(name, "_", i);
      if (graph.Find(candidate) != nullptr || !own.insert(candidate).second) continue;
      renaming->taken.emplace(node.name(), std::move(candidate));
      break;
    }
  }
}

void Rename(proto::GraphDef* def, Renaming* renaming) {
  for (proto::NodeDef& node : *def->mutable_node()) {
    node.set_name(renaming->Node(node.name()));
    for (std::string& input : *node.mutable_input()) input = renaming->Input(input);
    auto it = node.mutable_attr()->find("_class");
    if (it == node.mutable_attr()->end()) continue;
    for (std::string& s : *it->second.mutable_list()->mutable_s()) {
      if (absl::StartsWith(s, "loc:@")) s = "loc:@" + renaming->Node(s.substr(5));
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

// Returns (names of nodes that could not keep theirs, keys of `map` that nothing used).
nb::tuple Import(PyGraph& g, nb::bytes bytes, const std::string& prefix,
                 const std::map<std::string, std::string>& map) {
  proto::GraphDef def;
  if (!def.ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) throw nb::value_error("not a GraphDef");
  Renaming renaming{prefix, map, {}, {}};
  FindTakenNames(g.graph(), def, &renaming);
  if (!prefix.empty() || !map.empty() || !renaming.taken.empty()) Rename(&def, &renaming);
  const int first = g.graph().id_limit();
  Check(ImportGraph(def, ImportOptions(), &g.graph()));
  if (Status s = AddShapes(g, first); !s.ok()) {
    g.graph().RemoveNodesFrom(first);
    Check(s);
  }
  nb::list unused;
  for (const auto& [key, to] : map) {
    if (!renaming.used.contains(key)) unused.append(key);
  }
  return nb::make_tuple(renaming.taken, unused);
}

}  // namespace

void BindGraphMessages(nb::class_<PyGraph>& c) {
  c.def("to_graph_def", &ToGraphDef, nb::arg("from_id") = 0, nb::arg("strip_defaults") = false)
      .def("to_node_def", &ToNodeDef)
      .def("import_graph_def", &Import);
}

}  // namespace millstream::python
