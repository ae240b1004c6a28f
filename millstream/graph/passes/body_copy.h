// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PASSES_BODY_COPY_H_
#define MILLSTREAM_GRAPH_PASSES_BODY_COPY_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/graph.h"

namespace millstream {

// The body of `function` for these types, if nodes may be put in the place of its calls: not if the function forbids it
// (_noinline), has kernels with state of their own, which all its calls share, or effects beside branches and loops of
// the old kind: whoever waits for the body would wait for effects that do not happen. Nothing either if something is
// wrong with the function: that is reported when it is called.
std::optional<FunctionBody> FindBodyToCopy(const FunctionLibrary& library, const NameAttrList& function,
                                           const std::vector<DType>& arg_types, const std::vector<DType>& ret_types);

// Where a body is put.
struct BodyPlace {
  std::string name;                     // before the names of its nodes
  absl::string_view device;             // what its nodes do not say themselves
  absl::string_view assigned_device;    // of nodes that have a kernel there, others are on the CPU; "": will be placed
  std::vector<Node*> control_inputs{};  // what it waits for
  bool branching = false;               // may lie on a branch not taken or in a loop, so every node must get to know
  bool results_show_effects =
      true;  // false: only who waits for the whole body sees effects that a result does not need
};

// The body of a function, put into a graph. If it has effects it begins when all arguments are there, and whoever uses
// a result sees all of them, as with a call. Run(), then Finish(), then the rest.
class BodyCopy {
 public:
  BodyCopy(Graph* graph, BodyPlace place, const FunctionBody& body);

  Status Run(const std::vector<Output>& args);
  // `waited_for`: somebody waits for the whole body.
  Status Finish(bool waited_for);

  // What stands for the results.
  const std::vector<Output>& results() const { return results_; }
  // Runs after everything in the body; null if nobody needs it.
  Node* exit() const { return exit_; }
  Node* entry() const { return entry_; }
  // The copies of the body's nodes, by id; null where there is none.
  const std::vector<Node*>& twins() const { return twins_; }

 private:
  Output Map(const Output& from) const;
  StatusOr<Node*> Add(absl::string_view name, const OpEntry& op, AttrMap attrs, std::vector<Output> inputs,
                      std::vector<Node*> control);
  StatusOr<Output> Pass(absl::string_view name, Output value, std::vector<Node*> control);
  StatusOr<Node*> NoOp(absl::string_view name, std::vector<Node*> after);
  Status AddArgs(const std::vector<Output>& args);
  Status AddEntry();
  Status AddExit();
  Status Copy(const Node& node);
  void Connect(const Node& from, Node* to);

  Graph& graph_;
  const BodyPlace place_;
  const FunctionBody& body_;
  bool strict_;  // has effects that results show
  Node* entry_ = nullptr;
  Node* exit_ = nullptr;
  std::vector<Node*> waits_;
  std::vector<Output> args_;  // by id in the body
  std::vector<Node*> twins_;
  std::vector<Output> results_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PASSES_BODY_COPY_H_
