// SPDX-License-Identifier: Apache-2.0
#include "python/src/graph.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "millstream/graph/functions/function_library.h"
#include "python/src/arrays.h"
#include "python/src/attrs.h"
#include "python/src/errors.h"

namespace millstream::python {

PyGraph::PyGraph() : scope_(std::make_shared<Graph>(std::make_shared<FunctionLibrary>())) {}

Node* PyGraph::node(int id) const {
  const auto& nodes = graph().nodes();
  if (id < 0 || static_cast<size_t>(id) >= nodes.size() || nodes[id] == nullptr) throw nb::index_error("no such node");
  return nodes[id].get();
}

Output PyGraph::output(int id, int index) const {
  Node* n = node(id);
  if (index < 0 || index >= n->num_outputs()) throw nb::index_error("no such output");
  return Output(n, index);
}

std::vector<Output> PyGraph::outputs(nb::handle ids) const {
  std::vector<Output> out;
  for (nb::handle id : nb::iter(ids)) {
    if (id.is_none())
      out.emplace_back();
    else
      out.push_back(output(nb::cast<int>(id[0]), nb::cast<int>(id[1])));
  }
  return out;
}

Status PyGraph::TakeError() const {
  Status status = scope_.status();
  // A scope keeps its first error for good, which suits a C++ program; a Python program may catch it and go on.
  const_cast<Status&>(scope_.status()) = OkStatus();
  return status;
}

namespace {

std::vector<std::pair<std::string, AttrValue>> AttrsFrom(const OpDef& op, nb::dict attrs) {
  std::vector<std::pair<std::string, AttrValue>> out;
  for (auto [key, value] : attrs) {
    std::string name = nb::cast<std::string>(key);
    const AttrDef* def = op.FindAttr(name);
    try {
      AttrValue v = def != nullptr ? AttrFromPython(value, def->type) : UndeclaredAttrFromPython(value);
      out.emplace_back(std::move(name), std::move(v));
    } catch (nb::python_error& e) {
      if (!e.matches(PyExc_TypeError)) throw;
      throw nb::type_error(absl::StrCat("Attr '", name, "' of op ", op.name, ": ", e.what()).c_str());
    }
  }
  return out;
}

int CreateOp(PyGraph& g, const std::string& type, const std::string& name, nb::handle inputs, nb::handle control,
             nb::dict attrs, const std::string& device) {
  const OpEntry* op = Check(OpRegistry::Global().Lookup(type));
  std::vector<Node*> control_nodes;
  for (nb::handle id : nb::iter(control)) control_nodes.push_back(g.node(nb::cast<int>(id)));
  auto values = AttrsFrom(op->def, attrs);
  const Scope scope = g.scope().WithOpName(name + "/").WithControlDependencies(std::move(control_nodes));
  Node* node = scope.Add(type, g.outputs(inputs), std::move(values));
  if (node == nullptr) Check(g.TakeError());
  node->set_device(device);
  return node->id();
}

// What Python keeps of a node: (name, type, output types).
nb::object NodeInfo(const PyGraph& g, int id) {
  const auto& nodes = g.graph().nodes();
  if (static_cast<size_t>(id) < nodes.size() && nodes[id] == nullptr) return nb::none();
  const Node* node = g.node(id);
  nb::list types;
  for (DType t : node->output_types()) types.append(static_cast<int>(t));
  return nb::make_tuple(node->name(), node->type(), types);
}

nb::list Inputs(const PyGraph& g, int id) {
  nb::list out;
  for (const Output& in : g.node(id)->inputs()) {
    if (in.node == nullptr)
      out.append(nb::none());
    else
      out.append(nb::make_tuple(in.node->id(), in.index));
  }
  return out;
}

// An input of a loop's Merge, or any other: the types must fit.
void SetInput(PyGraph& g, int id, int index, const OutputId& to) {
  Node* node = g.node(id);
  if (index < 0 || index >= node->num_inputs()) throw nb::index_error("no such input");
  const Output old = node->input(index);
  g.graph().SetInput(node, index, g.output(to));
  if (Status s = g.graph().CheckInputs(*node); !s.ok()) {
    g.graph().SetInput(node, index, old);
    Check(s);
  }
}

}  // namespace

void BindGraph(nb::module_& m) {
  nb::class_<PyGraph> c(m, "Graph");
  c.def(nb::init<>())
      .def("create_op", &CreateOp, nb::arg("type"), nb::arg("name"), nb::arg("inputs"), nb::arg("control"),
           nb::arg("attrs"), nb::arg("device"))
      .def("id_limit", [](const PyGraph& g) { return g.graph().id_limit(); })
      .def("num_nodes", [](const PyGraph& g) { return g.graph().num_nodes(); })
      .def("find",
           [](const PyGraph& g, const std::string& name) {
             const Node* node = g.graph().Find(name);
             return node == nullptr ? -1 : node->id();
           })
      .def("node_info", &NodeInfo)
      .def("inputs", &Inputs)
      .def("set_input", &SetInput)
      .def("scope_prefix", [](const PyGraph& g) { return g.scope().name_prefix(); });
  BindGraphAccess(c);
  BindGraphMessages(c);
  BindGradients(c);
  BindControlFlow(c);
  BindFunctions(c);
}

}  // namespace millstream::python
