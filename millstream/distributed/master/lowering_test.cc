// SPDX-License-Identifier: Apache-2.0
// Conditionals and loops of functions whose variables are on another task than the rest.
#include <gtest/gtest.h>

#include "millstream/distributed/master/master_session.h"
#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/testing/function_text.h"

namespace millstream {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0";

NameAttrList FunctionNamed(const std::string& name) { return NameAttrList{name, {}}; }

class ClusterLoweringTest : public ::testing::Test {
 protected:
  static Scope RootWithFunctions() {
    auto library = std::make_shared<FunctionLibrary>();
    proto::FunctionDef fixed = MakeFunction(
        "bump_whole", {"h", "x"}, {{"c", "Const", {}}, {"add", "AssignAddVariableOp", {"h", "c:output:0"}}}, "x");
    (*fixed.mutable_attr())["_noinline"].set_b(true);
    proto::FunctionDef grow = MakeFunction(
        "grow", {"x", "h"},
        {{"c", "Const", {}}, {"add", "AssignAddVariableOp", {"h", "c:output:0"}}, {"y", "Add", {"x", "x"}}}, "y:z:0");
    grow.mutable_signature()->add_output_arg()->set_name("handle");
    grow.mutable_signature()->mutable_output_arg(1)->set_type(proto::DT_RESOURCE);
    (*grow.mutable_ret())["handle"] = "h";
    grow.mutable_signature()->add_control_output("effect");
    (*grow.mutable_control_ret())["effect"] = "add";
    for (const proto::FunctionDef& def :
         {fixed, grow, MakeFunction("leave", {"h", "x"}, {}, "x"),
          MakeFunction("bump", {"h", "x"}, {{"c", "Const", {}}, {"add", "AssignAddVariableOp", {"h", "c:output:0"}}},
                       "x"),
          MakeFunction("small", {"x", "h"}, {{"c", "Const", {}}, {"l", "Less", {"x", "c:output:0"}}}, "l:z:0",
                       proto::DT_BOOL)}) {
      EXPECT_TRUE(library->Add(def).ok()) << def.signature().name();
    }
    return Scope(std::make_shared<Graph>(library));
  }

  ClusterLoweringTest() {
    const Scope ps = root_.WithDevice("/job:ps/task:0");
    handle_ = ps.WithOpName("v").Op(
        "VarHandleOp", {},
        {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}, {"shared_name", std::string("v")}});
    ps.WithOpName("init").Add("AssignVariableOp", {handle_, ps.Const(1.f)});
    ps.WithOpName("value").Op("ReadVariableOp", {handle_}, {{"dtype", DType::kFloat}});
  }

  static Node* AddIf(const Scope& s, const std::string& then_branch, std::vector<Output> inputs) {
    return s.WithOpName("if").Add("If", std::move(inputs),
                                  Attrs{{"then_branch", FunctionNamed(then_branch)},
                                        {"else_branch", FunctionNamed("leave")},
                                        {"Tout", std::vector<DType>{DType::kFloat}},
                                        {"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}},
                                        {"_lower_using_switch_merge", true}});
  }

  // A session that has set the variable to 1; no step takes longer than 20 seconds.
  void Start() {
    EXPECT_TRUE(root_.ok()) << root_.status();
    proto::ConfigProto config;
    config.set_operation_timeout_in_ms(20'000);
    session_ = cluster_.NewSession(config);
    const Status extended = session_->Extend(*root_.graph());
    ASSERT_TRUE(extended.ok()) << extended;
    Run({}, {"init"});
  }

  std::vector<float> Run(const std::vector<std::string>& fetches, const std::vector<std::string>& targets = {}) {
    std::vector<Tensor> out;
    const Status status = session_->Run({}, fetches, targets, &out);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<float> values;
    for (const Tensor& t : out) values.push_back(t.scalar<float>());
    return values;
  }

  testing::DirectCluster cluster_{{"/job:worker/replica:0/task:0", kPs}};
  Scope root_ = RootWithFunctions();
  Output handle_;
  std::unique_ptr<MasterSession> session_;
};

TEST_F(ClusterLoweringTest, ResultsBringNoOtherEffects) {
  AddIf(root_, "bump", {root_.Const(true), handle_, root_.Const(2.f)});
  Start();
  EXPECT_EQ(Run({"if:0"}), std::vector<float>{2});
  EXPECT_EQ(Run({"value:0"}), std::vector<float>{1});
  Run({}, {"if"});
  EXPECT_EQ(Run({"value:0"}), std::vector<float>{8});
}

// What nobody takes is not sent: its sender would wait for an answer.
TEST_F(ClusterLoweringTest, InsideALoopToo) {
  const std::vector<Output> loop = WhileLoop(
      root_,
      [&](const Scope& b, const std::vector<Output>& x) {
        return b.Op("Less", {x[0], b.Const(5.f)});
      },
      [&](const Scope& b, const std::vector<Output>& x) {
        const Output one(AddIf(b, "bump", {b.Const(true), b.Import(handle_), b.Const(1.f)}));
        return std::vector<Output>{b.Op("Add", {x[0], one})};
      },
      {root_.Const(0.f)});
  ASSERT_TRUE(root_.ok()) << root_.status();
  root_.WithOpName("z").Op("Identity", {loop[0]});
  Start();
  EXPECT_EQ(Run({"z:0"}), std::vector<float>{5});
  EXPECT_EQ(Run({"value:0"}), std::vector<float>{1});
}

TEST_F(ClusterLoweringTest, ALoopGoesWhereItsVariableIs) {
  Node* loop = root_.WithOpName("while").Add(
      "While", {root_.Const(1.f), handle_},
      Attrs{{"cond", FunctionNamed("small")}, {"body", FunctionNamed("grow")}, {"_lower_using_switch_merge", true}});
  root_.WithControlDependencies({loop}).WithOpName("after").Op("ReadVariableOp", {handle_}, {{"dtype", DType::kFloat}});
  Start();
  RunOptions options;
  options.partition_graphs = true;
  proto::RunMetadata metadata;
  std::vector<Tensor> out;
  const Status status = session_->Run(options, {}, {"while:0", "after:0"}, {}, &out, &metadata);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 8.f);
  EXPECT_EQ(out[1].scalar<float>(), 22.f);
  int loops = 0;
  for (const proto::GraphDef& part : metadata.partition_graphs()) {
    for (const proto::NodeDef& node : part.node()) {
      EXPECT_NE(node.op(), "_LoopSend");
      if (node.op() != "LoopCond") continue;
      EXPECT_EQ(node.device().substr(0, sizeof(kPs) - 1), kPs);
      ++loops;
    }
  }
  EXPECT_EQ(loops, 1);
}

// A conditional that stays whole finds its variables only where they are.
TEST_F(ClusterLoweringTest, WhatStaysWholeGoesWhereItsVariableIs) {
  AddIf(root_.WithDevice("/job:worker/task:0"), "bump_whole", {root_.Const(true), handle_, root_.Const(2.f)});
  Start();
  EXPECT_EQ(Run({"if:0"}), std::vector<float>{2});
  EXPECT_EQ(Run({"value:0"}), std::vector<float>{8});
}

}  // namespace
}  // namespace millstream
