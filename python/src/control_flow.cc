// SPDX-License-Identifier: Apache-2.0
// Branches and loops whose insides are built by Python functions.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "python/src/attrs.h"
#include "python/src/errors.h"
#include "python/src/graph.h"

namespace millstream::python {
namespace {

nb::list Ids(const std::vector<Output>& outputs) {
  nb::list ids;
  for (const Output& o : outputs) ids.append(PyGraph::IdOf(o));
  return ids;
}

// Calls fn(prefix, ids) with Python's new nodes going inside; the scope gets the error if it fails.
std::vector<Output> CallInside(PyGraph& graph, const Scope& scope, nb::handle fn, const std::vector<Output>& args) {
  PyGraph::Inside inside(graph, scope);
  try {
    return graph.outputs(fn(scope.name_prefix(), Ids(args)));
  } catch (nb::python_error& e) {
    scope.Fail(FromPythonError(e));
  } catch (const StatusError& e) {
    scope.Fail(e.status());
  }
  return {};
}

nb::list BuildCond(PyGraph& graph, const std::string& prefix, const std::string& name, const OutputId& pred,
                   nb::handle then_fn, nb::handle else_fn) {
  const Scope scope = graph.scope().NameScope(prefix);
  const std::vector<Output> merged = Cond(
      scope, graph.output(pred), [&](const Scope& s) { return CallInside(graph, s, then_fn, {}); },
      [&](const Scope& s) { return CallInside(graph, s, else_fn, {}); }, name);
  CheckOrRaise(graph.TakeError());
  return Ids(merged);
}

nb::list BuildWhile(PyGraph& graph, const std::string& prefix, const std::string& name, nb::handle cond,
                    nb::handle body, nb::handle vars, int64_t parallel_iterations, nb::handle maximum_iterations,
                    bool swap_memory, nb::handle invariants) {
  const Scope scope = graph.scope().NameScope(prefix);
  WhileOptions options;
  options.name = name;
  options.parallel_iterations = parallel_iterations;
  for (const Output& limit : graph.outputs(maximum_iterations)) options.maximum_iterations = limit;  // none or one
  options.swap_memory = swap_memory;
  for (nb::handle shape : nb::iter(invariants)) options.shape_invariants.push_back(ShapeFromPython(shape));
  const auto call_cond = [&](const Scope& s, const std::vector<Output>& args) {
    const std::vector<Output> result = CallInside(graph, s, cond, args);
    return result.empty() ? Output() : result[0];
  };
  const auto call_body = [&](const Scope& s, const std::vector<Output>& args) {
    return CallInside(graph, s, body, args);
  };
  const std::vector<Output> results = WhileLoop(scope, call_cond, call_body, graph.outputs(vars), options);
  CheckOrRaise(graph.TakeError());
  return Ids(results);
}

}  // namespace

void BindControlFlow(nb::class_<PyGraph>& c) {
  c.def("cond", &BuildCond, nb::arg("prefix"), nb::arg("name"), nb::arg("pred"), nb::arg("then_fn"),
        nb::arg("else_fn"));
  c.def("while_loop", &BuildWhile, nb::arg("prefix"), nb::arg("name"), nb::arg("cond"), nb::arg("body"),
        nb::arg("vars"), nb::arg("parallel_iterations"), nb::arg("maximum_iterations"), nb::arg("swap_memory"),
        nb::arg("invariants"));
  c.def("enter_root", &PyGraph::EnterRoot, "New nodes go outside of all branches and loops, until leave_root().");
  c.def("leave_root", &PyGraph::LeaveRoot);
  c.def(
      "in_context", [](const PyGraph& g) { return g.scope().context() != nullptr; },
      "True while the inside of a branch or loop is being built.");
}

}  // namespace millstream::python
