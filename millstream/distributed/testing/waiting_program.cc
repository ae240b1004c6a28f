// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/testing/waiting_program.h"

#include "millstream/base/logging.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/scope.h"

namespace millstream::testing {

proto::GraphDef WaitingProgram::Graph(const std::string& prefix) {
  const Scope root = Scope::Root();
  const auto named = [&](const char* name) { return root.WithOpName(prefix + name); };
  const std::vector<DType> float_types = {DType::kFloat}, int_types = {DType::kInt64};
  const std::vector<PartialShape> scalars = {PartialShape(Shape({}))};

  const Output x = named("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Output square = named("square").Op("Square", {x});
  const Output variable =
      named("v").Op("VarHandleOp", {},
                    {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape({}))}, {"shared_name", std::string("v")}});
  named("assign").Add("AssignVariableOp", {variable, x}, {{"dtype", DType::kFloat}});
  named("add").Add("AssignAddVariableOp", {variable, square}, {{"dtype", DType::kFloat}});
  named("read").Op("ReadVariableOp", {variable}, {{"dtype", DType::kFloat}});

  const Output queue = named("q").Op(
      "FIFOQueueV2", {},
      {{"component_types", float_types}, {"capacity", int64_t{1}}, {"shared_name", std::string("shared_queue")}});
  named("put").Add("QueueEnqueueV2", {queue, square}, {{"Tcomponents", float_types}});
  Node* taken = named("take").Add("QueueDequeueV2", {queue}, {{"component_types", float_types}});
  named("sum").Op("Add", {x, Output(taken, 0)});
  named("close").Add("QueueCloseV2", {queue});

  const Output range = named("range").Op(
      "RangeDataset",
      {root.WithOpName(prefix + "from").Const<int64_t>(0), root.WithOpName(prefix + "to").Const<int64_t>(9),
       root.WithOpName(prefix + "by").Const<int64_t>(1)},
      {{"output_types", int_types}, {"output_shapes", scalars}});
  const Output iterator = named("i").Op("IteratorV2", {},
                                        {{"output_types", int_types},
                                         {"output_shapes", scalars},
                                         {"container", std::string("")},
                                         {"shared_name", std::string("shared_iterator")}});
  named("make").Add("MakeIterator", {range, iterator});
  named("next").Add("IteratorGetNext", {iterator}, {{"output_types", int_types}, {"output_shapes", scalars}});

  named("reduce").Op("CollectiveReduce", {x},
                     {{"group_size", int64_t{2}},
                      {"group_key", int64_t{1}},
                      {"instance_key", int64_t{1}},
                      {"merge_op", std::string("Add")},
                      {"final_op", std::string("Id")},
                      {"subdiv_offsets", std::vector<int64_t>{0}}});
  proto::GraphDef graph;
  MS_CHECK(root.status().ok() && ExportGraph(*root.graph(), &graph).ok());
  return graph;
}

const std::vector<std::string>& WaitingProgram::Names() {
  static const auto* const names = new std::vector<std::string>{
      "x:0",   "square:0", "read:0", "take:0", "sum:0",    "next:0",   "reduce:0", "assign",         "add",      "put",
      "close", "make",     "q:0",    "i:0",    "square:1", "nobody:0", "",         "more0_square:0", "more1_v:0"};
  return *names;
}

proto::NamedTensorProto WaitingProgram::Feed() {
  proto::NamedTensorProto feed;
  feed.set_name("x:0");
  feed.mutable_tensor()->set_dtype(proto::DT_FLOAT);
  feed.mutable_tensor()->mutable_tensor_shape();
  feed.mutable_tensor()->add_float_val(3.f);
  return feed;
}

}  // namespace millstream::testing
