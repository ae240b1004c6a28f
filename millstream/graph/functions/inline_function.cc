// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/functions/inline_function.h"

#include <unordered_map>

#include "millstream/graph/control_flow.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

class Inliner {
 public:
  Inliner(const Scope& scope, const FunctionBody& body) : scope_(scope), body_(body) {}

  StatusOr<std::vector<Output>> Run(const std::vector<Output>& args) {
    if (args.size() != body_.args.size()) {
      return errors::InvalidArgument("A function with ", body_.args.size(), " arguments gets ", args.size());
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i] || args[i].dtype() != body_.arg_types[i]) {
        return errors::InvalidArgument("Argument ", i, " of a function must be of type ",
                                       DTypeName(body_.arg_types[i]));
      }
      args_[body_.args[i]] = scope_.Import(args[i]);
    }
    ASSIGN_OR_RETURN(const std::vector<Node*> order, body_.graph->TopologicalOrder());
    for (const Node* node : order) {
      if (!args_.contains(node) && !IsA(*node, OpKind::kRetval)) RETURN_IF_ERROR(Copy(*node));
    }
    for (const auto& [merge, input] : back_edges_) {
      scope_.graph()->SetInput(nodes_[merge], input, Map(merge->input(input)));
    }
    std::vector<Output> results;
    for (const Node* ret : body_.rets) results.push_back(Map(ret->input(0)));
    return results;
  }

 private:
  Output Map(const Output& from) const {
    if (auto it = args_.find(from.node); it != args_.end()) return it->second;
    auto it = nodes_.find(from.node);
    return it == nodes_.end() ? Output() : Output(it->second, from.index);
  }

  Status Copy(const Node& node) {
    std::vector<Output> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output mapped = Map(node.input(i));
      if (!mapped) back_edges_.emplace_back(&node, i);  // a loop: for now, what enters it
      inputs.push_back(mapped);
    }
    for (Output& in : inputs)
      if (!in) in = inputs[0] ? inputs[0] : inputs.back();
    std::vector<Node*> control;
    for (const Node* from : node.control_inputs()) {
      if (auto it = nodes_.find(from); it != nodes_.end()) control.push_back(it->second);
    }
    std::vector<std::pair<std::string, AttrValue>> attrs;
    for (const auto& [name, value] : node.attrs()) {
      if (name == "_class") continue;  // names nodes of the function
      if (name == "frame_name" && IsEnter(node))
        attrs.emplace_back(name, absl::StrCat(scope_.name_prefix(), *value.get<std::string>()));
      else
        attrs.emplace_back(name, value);
    }
    const Scope at =
        scope_.WithOpName(node.name()).WithDevice(node.device()).WithControlDependencies(std::move(control));
    nodes_[&node] = at.Add(node.type(), std::move(inputs), std::move(attrs));
    return scope_.status();
  }

  const Scope scope_;
  const FunctionBody& body_;
  std::unordered_map<const Node*, Output> args_;
  std::unordered_map<const Node*, Node*> nodes_;
  std::vector<std::pair<const Node*, int>> back_edges_;
};

}  // namespace

StatusOr<std::vector<Output>> InlineFunction(const Scope& scope, const NameAttrList& function,
                                             const std::vector<Output>& args) {
  RETURN_IF_ERROR(scope.status());
  const std::shared_ptr<FunctionLibrary>& library = scope.graph()->library();
  if (library == nullptr)
    return errors::NotFound("Function ", function.name, " is not defined: the graph has no functions.");
  ASSIGN_OR_RETURN(const FunctionBody body, library->Instantiate(function));
  StatusOr<std::vector<Output>> results = Inliner(scope.NameScope(function.name), body).Run(args);
  if (!results.ok()) return WithContext(results.status(), absl::StrCat("Function '", function.name, "'"));
  return results;
}

}  // namespace millstream
