// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/gradients/gradient_builder.h"
#include "python/src/errors.h"
#include "python/src/graph.h"

namespace millstream::python {
namespace {

// None, (id, index), or a list of three such pairs: values, indices, shape.
nb::object GradToPython(const Grad& g) {
  if (g.IsNone()) return nb::none();
  if (!g.IsSparse()) return nb::cast(PyGraph::IdOf(g.dense));
  nb::list parts;
  parts.append(PyGraph::IdOf(g.values));
  parts.append(PyGraph::IdOf(g.indices));
  if (g.dense_shape)
    parts.append(PyGraph::IdOf(g.dense_shape));
  else
    parts.append(nb::none());
  return parts;
}

Grad GradFromPython(const PyGraph& graph, nb::handle value) {
  if (value.is_none()) return Grad();
  if (!nb::isinstance<nb::list>(value)) return Grad(graph.output(nb::cast<OutputId>(value)));
  const std::vector<Output> parts = graph.outputs(value);
  return Grad::Slices(parts.at(0), parts.at(1), parts.at(2));
}

// Calls Python for nodes whose gradient is defined there: custom(id, dys, scope) returns a list of gradients, or None
// if it has none for this node.
StatusOr<bool> CallPython(PyGraph& graph, nb::handle custom, nb::handle types, GradContext& ctx) {
  const Node& node = ctx.node();
  if (!ctx.node().attrs().Has("_gradient_op_type")) {
    const int found = PySet_Contains(types.ptr(), nb::str(node.type().c_str()).ptr());
    if (found <= 0) return false;
  }
  PyGraph::Inside inside(graph, ctx.scope());
  try {
    nb::list dys;
    for (int i = 0; i < node.num_outputs(); ++i) dys.append(GradToPython(ctx.grad(i)));
    nb::object result = custom(node.id(), dys, ctx.scope().name_prefix());
    if (result.is_none()) return false;
    int i = 0;
    for (nb::handle dx : nb::iter(result)) ctx.set_dx(i++, GradFromPython(graph, dx));
    return true;
  } catch (nb::python_error& e) {
    return FromPythonError(e);
  }
}

nb::list Gradients(PyGraph& graph, const std::string& prefix, nb::handle ys, nb::handle xs, nb::handle grad_ys,
                   nb::handle stop, bool colocate, bool gate, bool tree, nb::handle custom_types, nb::handle custom) {
  GradientOptions options;
  options.colocate_gradients_with_ops = colocate;
  options.gate_gradients = gate;
  options.aggregation = tree ? GradientOptions::Aggregation::kTree : GradientOptions::Aggregation::kAddN;
  options.stop_gradients = graph.outputs(stop);
  options.custom = [&](GradContext& ctx) { return CallPython(graph, custom, custom_types, ctx); };
  std::vector<Grad> grads;
  Status status = AddGradientsIn(graph.scope().NameScope(prefix), graph.outputs(ys), graph.outputs(xs),
                                 graph.outputs(grad_ys), &grads, options);
  graph.TakeError().IgnoreError();
  CheckOrRaise(status);
  nb::list out;
  for (const Grad& g : grads) out.append(GradToPython(g));
  return out;
}

}  // namespace

void BindGradients(nb::class_<PyGraph>& c) {
  c.def("gradients", &Gradients, nb::arg("prefix"), nb::arg("ys"), nb::arg("xs"), nb::arg("grad_ys"), nb::arg("stop"),
        nb::arg("colocate"), nb::arg("gate"), nb::arg("tree"), nb::arg("custom_types"), nb::arg("custom"));
}

}  // namespace millstream::python
