// SPDX-License-Identifier: Apache-2.0
// Functions: graphs of Python callables as definitions in the library of another graph.
#include <nanobind/stl/string.h>

#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/import/export.h"
#include "millstream/proto/function.pb.h"
#include "millstream/proto/graph.pb.h"
#include "python/src/errors.h"
#include "python/src/graph.h"

namespace millstream::python {
namespace {

nb::bytes Serialize(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  return nb::bytes(bytes.data(), bytes.size());
}

// How the body of a function names an output: "node:declared_name:index_in_it"; arguments by their own name.
std::string BodyName(const Output& o, const std::unordered_map<Output, std::string, OutputHash>& args) {
  if (auto it = args.find(o); it != args.end()) return it->second;
  for (const ArgDef& arg : o.node->op().def.outputs) {
    int begin = 0, end = 0;
    Check(ArgRange(o.node->op().def.outputs, o.node->attrs(), arg.name, &begin, &end));
    if (o.index >= begin && o.index < end) return absl::StrCat(o.node->name(), ":", arg.name, ":", o.index - begin);
  }
  throw nb::index_error("no such output");
}

void AddArg(proto::OpDef::ArgDef* arg, const std::string& name, DType dtype) {
  arg->set_name(name);
  arg->set_type(static_cast<proto::DataType>(dtype));
}

// The nodes of the graph but the arguments, as a FunctionDef. `args` are outputs of the nodes that stand for the
// arguments.
nb::bytes ToFunctionDef(const PyGraph& g, const std::string& name, nb::handle arg_ids, nb::handle ret_ids,
                        bool stateful) {
  proto::FunctionDef def;
  def.mutable_signature()->set_name(name);
  std::unordered_map<Output, std::string, OutputHash> args;
  std::vector<bool> is_arg(static_cast<size_t>(g.graph().id_limit()), false);
  for (const Output& arg : g.outputs(arg_ids)) {
    std::string arg_name = absl::StrCat("arg", args.size());
    AddArg(def.mutable_signature()->add_input_arg(), arg_name, arg.dtype());
    is_arg[arg.node->id()] = true;
    args.emplace(arg, std::move(arg_name));
  }
  const std::vector<Output> rets = g.outputs(ret_ids);
  for (size_t i = 0; i < rets.size(); ++i) {
    const std::string ret = absl::StrCat("ret", i);
    AddArg(def.mutable_signature()->add_output_arg(), ret, rets[i].dtype());
    (*def.mutable_ret())[ret] = BodyName(rets[i], args);
  }
  for (const auto& node : g.graph().nodes()) {
    if (node == nullptr || is_arg[node->id()]) continue;
    stateful |= node->IsStateful();
    proto::NodeDef* body = def.add_node_def();
    Check(ExportNode(*node, body));
    body->clear_input();
    for (const Output& in : node->inputs()) body->add_input(BodyName(in, args));
    for (const Node* in : node->control_inputs()) {
      if (!is_arg[in->id()]) body->add_input("^" + in->name());
    }
    if (node->IsStateful()) {
      def.mutable_signature()->add_control_output(node->name());
      (*def.mutable_control_ret())[node->name()] = node->name();
    }
  }
  def.mutable_signature()->set_is_stateful(stateful);
  return Serialize(def);
}

void AddFunction(PyGraph& g, nb::bytes bytes, const std::string& gradient) {
  proto::FunctionDefLibrary library;
  if (!library.add_function()->ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) {
    throw nb::value_error("not a FunctionDef");
  }
  if (!gradient.empty()) {
    proto::GradientDef* grad = library.add_gradient();
    grad->set_function_name(library.function(0).signature().name());
    grad->set_gradient_func(gradient);
  }
  Check(g.graph().library()->AddLibrary(library));
}

void AddLibrary(PyGraph& g, const PyGraph& from) {
  proto::FunctionDefLibrary library;
  from.graph().library()->ToProto(&library);
  Check(g.graph().library()->AddLibrary(library));
}

nb::bytes LibraryToProto(const PyGraph& g) {
  proto::FunctionDefLibrary library;
  g.graph().library()->ToProto(&library);
  return Serialize(library);
}

}  // namespace

void BindFunctions(nb::class_<PyGraph>& c) {
  c.def("to_function_def", &ToFunctionDef, nb::arg("name"), nb::arg("args"), nb::arg("rets"),
        nb::arg("stateful") = false)
      .def("add_function", &AddFunction, nb::arg("function"), nb::arg("gradient") = "")
      .def("add_library", &AddLibrary, "Adds the functions of another graph.")
      .def("library", &LibraryToProto)
      .def("has_function",
           [](const PyGraph& g, const std::string& name) { return g.graph().library()->Find(name) != nullptr; });
}

}  // namespace millstream::python
