// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/numbers.h"
#include "millstream/framework/op.h"
#include "millstream/graph/functions/library_source.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/strings/fingerprint.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

// How bodies of functions name output `index` of a node, "node:output:0". InvalidArgument if the op is not known or
// has outputs of several tensors.
StatusOr<std::string> NameInFunction(const proto::NodeDef& node, int index) {
  ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup(node.op()));
  const std::vector<ArgDef>& outputs = op->def.outputs;
  const bool known = index >= 0 && index < static_cast<int>(outputs.size());
  if (!known || !outputs[static_cast<size_t>(index)].number_attr.empty() ||
      !outputs[static_cast<size_t>(index)].type_list_attr.empty()) {
    return errors::InvalidArgument("The graph of a dataset uses output ", index, " of node ", node.name(), ".");
  }
  return absl::StrCat(node.name(), ":", outputs[static_cast<size_t>(index)].name, ":0");
}

// Turns the nodes of a graph, apart from its _Retval, into the body of a function that returns what that returns.
class AsFunction {
 public:
  explicit AsFunction(const proto::GraphDef& graph) : graph_(graph) {
    for (const proto::NodeDef& node : graph.node()) nodes_[node.name()] = &node;
  }

  Status Convert(const std::string& name, proto::FunctionDef* function) const {
    function->mutable_signature()->set_name(name);
    function->mutable_signature()->set_is_stateful(true);
    auto* result = function->mutable_signature()->add_output_arg();
    result->set_name("dataset");
    result->set_type(proto::DT_VARIANT);
    for (const proto::NodeDef& node : graph_.node()) {
      const bool is_result = node.op() == "_Retval";
      proto::NodeDef* copy = is_result ? nullptr : function->add_node_def();
      if (copy != nullptr) *copy = node;
      for (int i = 0; i < node.input_size(); ++i) {
        ASSIGN_OR_RETURN(const std::string input, InputInFunction(node.input(i)));
        if (is_result)
          (*function->mutable_ret())["dataset"] = input;
        else
          copy->set_input(i, input);
      }
    }
    if (function->ret().empty()) return errors::NotFound("Failed to find a _Retval op in the given dataset");
    return OkStatus();
  }

 private:
  StatusOr<std::string> InputInFunction(const std::string& input) const {
    if (!input.empty() && input[0] == '^') return input;
    const size_t colon = input.rfind(':');
    int index = 0;
    if (colon != std::string::npos && !absl::SimpleAtoi(input.substr(colon + 1), &index)) index = -1;
    const auto node = nodes_.find(input.substr(0, colon));
    if (node == nodes_.end()) return errors::InvalidArgument("The graph of a dataset has no node ", input, ".");
    return NameInFunction(*node->second, index);
  }

  const proto::GraphDef& graph_;
  std::map<std::string, const proto::NodeDef*> nodes_;
};

class DatasetFromGraph final : public AsyncKernel {
 public:
  explicit DatasetFromGraph(KernelInit&) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    StatusOr<std::shared_ptr<CompiledFunction>> function = Compile(ctx);
    if (!function.ok()) return done(function.status());
    auto results = std::make_shared<std::vector<Tensor>>();
    ctx.step().functions->RunAsync(**function, ctx.step(), {}, results.get(),
                                   [&ctx, done, results, held = *function](const Status& status) {
                                     if (status.ok()) ctx.set_output(0, std::move((*results)[0]));
                                     done(status);
                                   });
  }

 private:
  // The graph becomes a function of the session's library, which its own functions are added to.
  static StatusOr<std::shared_ptr<CompiledFunction>> Compile(const KernelContext& ctx) {
    ASSIGN_OR_RETURN(const std::string bytes, ScalarInput<std::string>(ctx, 0, "graph_def"));
    proto::GraphDef graph;
    if (!graph.ParseFromString(bytes)) return errors::InvalidArgument("Could not parse serialized graph_def.");
    const auto* source = dynamic_cast<const LibrarySource*>(ctx.step().functions);
    if (source == nullptr) return errors::Internal("No function library is provided.");
    NameAttrList name;
    name.name = absl::StrCat("__dataset_from_graph_", Fingerprint64(bytes));
    if (source->library()->Find(name.name) == nullptr) {
      proto::FunctionDefLibrary library = graph.library();
      RETURN_IF_ERROR(AsFunction(graph).Convert(name.name, library.add_function()));
      RETURN_IF_ERROR(source->library()->AddLibrary(library));
    }
    ASSIGN_OR_RETURN(std::shared_ptr<CompiledFunction> function, ctx.step().functions->Instantiate(name));
    // The program may have a function of that name.
    if (!function->arg_types().empty() || function->ret_types() != std::vector<DType>{DType::kVariant}) {
      return errors::InvalidArgument("Function ", name.name, " is not one that makes a dataset.");
    }
    return function;
  }
};

OP("DatasetFromGraph")
    .Input("graph_def: string")
    .Output("handle: variant")
    .Stateful()  // needs the session's library: never evaluated while a graph is planned
    .Shape(ScalarShape)
    .Cpu<DatasetFromGraph>()
    .MayBlock()
    .Doc("The dataset whose pipeline a serialized GraphDef describes.");

}  // namespace
}  // namespace millstream
