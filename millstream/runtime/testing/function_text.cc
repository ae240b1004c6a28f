// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/testing/function_text.h"

#include <gtest/gtest.h>

#include "millstream/proto/config.pb.h"

namespace millstream {
namespace {

void SetAttributes(const std::string& op, proto::NodeDef* n) {
  if (op == "Const") {
    (*n->mutable_attr())["dtype"].set_type(proto::DT_FLOAT);
    auto* value = (*n->mutable_attr())["value"].mutable_tensor();
    value->set_dtype(proto::DT_FLOAT);
    value->mutable_tensor_shape();
    value->add_float_val(7);
  } else if (op == "AssignAddVariableOp" || op == "ReadVariableOp") {
    (*n->mutable_attr())["dtype"].set_type(proto::DT_FLOAT);
  } else if (op == "Mul" || op == "Neg" || op == "Add" || op == "Less" || op == "Switch" || op == "Merge") {
    (*n->mutable_attr())["T"].set_type(proto::DT_FLOAT);
    if (op == "Merge") (*n->mutable_attr())["N"].set_i(2);
  }
}

}  // namespace

proto::FunctionDef MakeFunction(const std::string& name, const std::vector<std::string>& args,
                                const std::vector<NodeText>& nodes, const std::string& result,
                                proto::DataType result_type) {
  proto::FunctionDef def;
  def.mutable_signature()->set_name(name);
  for (const std::string& arg : args) {
    auto* a = def.mutable_signature()->add_input_arg();
    a->set_name(arg);
    a->set_type(arg[0] == 'h' ? proto::DT_RESOURCE : proto::DT_FLOAT);
  }
  for (const NodeText& node : nodes) {
    auto* n = def.add_node_def();
    n->set_name(node.name);
    n->set_op(node.op);
    for (const std::string& in : node.inputs) n->add_input(in);
    SetAttributes(node.op, n);
  }
  auto* out = def.mutable_signature()->add_output_arg();
  out->set_name("y");
  out->set_type(result_type);
  (*def.mutable_ret())["y"] = result;
  return def;
}

GraphResult RunInSession(const Scope& s, const SessionOptions& options, const Session::Feeds& feeds,
                         const std::vector<std::string>& fetches, const std::vector<std::string>& first) {
  EXPECT_TRUE(s.ok()) << s.status();
  auto session = NewSession(options);
  EXPECT_TRUE((*session)->Extend(*s.graph()).ok());
  for (const std::string& target : first) EXPECT_TRUE((*session)->Run({}, {}, {target}, nullptr).ok());
  GraphResult result;
  std::vector<Tensor> out;
  proto::RunMetadata metadata;
  RunOptions run;
  run.full_trace = true;
  result.status = (*session)->Run(run, feeds, fetches, {}, &out, &metadata);
  for (const Tensor& t : out) result.values.push_back(result.status.ok() ? t.scalar<float>() : 0);
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats()) result.ran.insert(node.node_name());
  }
  return result;
}

}  // namespace millstream
