// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_GRAPH_H_
#define MILLSTREAM_PYTHON_SRC_GRAPH_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream::python {

namespace nb = nanobind;

// (node id, output index), as Python names an output.
using OutputId = std::pair<int, int>;

// A graph as Python sees it: nodes by id. Names are chosen in Python; nodes that C++ adds on the way (gradients, loops)
// are found by Python through their ids, which only grow. Guarded by the GIL.
class PyGraph {
 public:
  PyGraph();

  Graph& graph() const { return *scope_.graph(); }
  ShapeRefiner& shapes() const { return scope_.shapes(); }
  // Throws IndexError if there is none.
  Node* node(int id) const;
  Output output(const OutputId& id) const { return output(id.first, id.second); }
  Output output(int id, int index) const;
  std::vector<Output> outputs(nb::handle ids) const;
  static OutputId IdOf(const Output& o) { return {o.node->id(), o.index}; }

  // Where new nodes go: the inside of the innermost branch or loop that is being built.
  const Scope& scope() const { return inside_.empty() ? scope_ : inside_.back(); }
  const Scope& root() const { return scope_; }
  // `status`, and forgets it: the next call starts afresh.
  Status TakeError() const;

  // While it lives, Python's new nodes go into `scope`.
  class Inside {
   public:
    Inside(PyGraph& graph, const Scope& scope) : graph_(graph) { graph_.inside_.push_back(scope); }
    ~Inside() { graph_.inside_.pop_back(); }

   private:
    PyGraph& graph_;
  };
  // The same without a block: outside of everything.
  void EnterRoot() { inside_.push_back(scope_); }
  void LeaveRoot() { inside_.pop_back(); }

 private:
  Scope scope_;
  std::vector<Scope> inside_;
};

void BindGraph(nb::module_& m);
void BindGraphAccess(nb::class_<PyGraph>& c);
void BindGraphMessages(nb::class_<PyGraph>& c);
void BindGradients(nb::class_<PyGraph>& c);
void BindControlFlow(nb::class_<PyGraph>& c);
void BindFunctions(nb::class_<PyGraph>& c);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_GRAPH_H_
