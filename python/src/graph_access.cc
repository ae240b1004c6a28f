// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph: attributes, shapes, devices, edges.
#include <nanobind/stl/string.h>

#include "millstream/graph/node_kind.h"
#include "python/src/arrays.h"
#include "python/src/attrs.h"
#include "python/src/errors.h"
#include "python/src/graph.h"

namespace millstream::python {
namespace {

nb::object GetAttr(const PyGraph& g, int id, const std::string& name) {
  const AttrValue* value = g.node(id)->attrs().Find(name);
  return value == nullptr ? nb::none() : AttrToPython(*value);
}

nb::list AttrNames(const PyGraph& g, int id) {
  nb::list names;
  for (const auto& [name, value] : g.node(id)->attrs()) names.append(nb::str(name.data(), name.size()));
  return names;
}

void SetAttr(PyGraph& g, int id, const std::string& name, nb::handle value) {
  Node* node = g.node(id);
  const AttrDef* def = node->op().def.FindAttr(name);
  if (def == nullptr) {
    node->attrs().Set(name, UndeclaredAttrFromPython(value));
    return;
  }
  AttrValue v = AttrFromPython(value, def->type);
  Check(CheckAttr(*def, v));
  node->attrs().Set(name, std::move(v));
}

nb::list ControlInputs(const PyGraph& g, int id) {
  nb::list ids;
  for (const Node* n : g.node(id)->control_inputs()) ids.append(n->id());
  return ids;
}

nb::object ConstantValue(const PyGraph& g, int id, int index) {
  const Output o = g.output(id, index);
  if (IsA(*o.node, OpKind::kConst)) {
    Tensor value;
    Check(o.node->GetAttr("value", &value));
    return ArrayFromTensor(std::move(value), false);
  }
  Tensor value;
  if (!g.shapes().ConstantValue(o, &value, int64_t{1} << 20)) return nb::none();
  return ArrayFromTensor(std::move(value), false);
}

nb::object HandleData(const PyGraph& g, int id, int index) {
  const Output o = g.output(id, index);
  const DType dtype = g.shapes().handle_dtype(o);
  if (dtype == DType::kInvalid) return nb::none();
  return nb::make_tuple(static_cast<int>(dtype), ShapeToPython(g.shapes().handle_shape(o)));
}

}  // namespace

void BindGraphAccess(nb::class_<PyGraph>& c) {
  c.def("attr", &GetAttr, "(kind, value), or None if the node has no such attribute.")
      .def("attr_names", &AttrNames)
      .def("set_attr", &SetAttr)
      .def("clear_attr", [](PyGraph& g, int id, const std::string& name) { g.node(id)->attrs().Erase(name); })
      .def("device", [](const PyGraph& g, int id) { return std::string(g.node(id)->device()); })
      .def("set_device", [](PyGraph& g, int id, const std::string& device) { g.node(id)->set_device(device); })
      .def("control_inputs", &ControlInputs)
      .def("add_control_input",
           [](PyGraph& g, int id, int from) { g.graph().AddControlInput(g.node(id), g.node(from)); })
      .def("clear_control_inputs", [](PyGraph& g, int id) { g.graph().SetControlInputs(g.node(id), {}); })
      .def("shape", [](const PyGraph& g, int id, int i) { return ShapeToPython(g.shapes().shape(g.output(id, i))); })
      .def(
          "merge_shape",
          [](PyGraph& g, int id, int i, nb::handle dims) {
            Check(g.shapes().MergeShape(g.output(id, i), ShapeFromPython(dims)));
          },
          nb::arg("id"), nb::arg("index"), nb::arg("dims").none())
      .def(
          "set_shape",
          [](PyGraph& g, int id, int i, nb::handle dims) {
            g.shapes().SetShape(g.output(id, i), ShapeFromPython(dims));
          },
          nb::arg("id"), nb::arg("index"), nb::arg("dims").none())
      .def("constant_value", &ConstantValue)
      .def("constant_value_as_shape",
           [](const PyGraph& g, int id, int i) { return ShapeToPython(g.shapes().ConstantAsShape(g.output(id, i))); })
      .def("handle_data", &HandleData, "(dtype, shape) of the variable behind a handle; None if not known.");
}

}  // namespace millstream::python
