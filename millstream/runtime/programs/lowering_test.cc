// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/framework/op.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/testing/function_text.h"

namespace millstream {
namespace {

using Result = GraphResult;

constexpr char kLower[] = "_lower_using_switch_merge";

// `inside` calls others: its If has no types of its own, so it is added here.
proto::FunctionDef WithIf(proto::FunctionDef def, const std::string& then_branch, const std::string& else_branch) {
  for (proto::NodeDef& node : *def.mutable_node_def()) {
    if (node.op() != "StatelessIf") continue;
    auto& attr = *node.mutable_attr();
    attr["Tcond"].set_type(proto::DT_BOOL);
    attr["Tin"].mutable_list()->add_type(proto::DT_FLOAT);
    attr["Tout"].mutable_list()->add_type(proto::DT_FLOAT);
    attr["then_branch"].mutable_func()->set_name(then_branch);
    attr["else_branch"].mutable_func()->set_name(else_branch);
    attr[kLower].set_b(true);
  }
  return def;
}

// Returns its first argument, a handle, as well: a body of a loop with two variables.
proto::FunctionDef WithHandle(proto::FunctionDef def) {
  auto* results = def.mutable_signature()->mutable_output_arg();
  auto* handle = results->Add();
  handle->set_name("handle");
  handle->set_type(proto::DT_RESOURCE);
  results->SwapElements(0, 1);
  (*def.mutable_ret())["handle"] = def.signature().input_arg(0).name();
  def.mutable_signature()->add_control_output("effect");
  (*def.mutable_control_ret())["effect"] = "add";
  return def;
}

Scope LoweringRoot() {
  auto library = std::make_shared<FunctionLibrary>();
  proto::FunctionDef fixed = MakeFunction("fixed", {"x"}, {{"n", "Neg", {"x"}}}, "n:y:0");
  (*fixed.mutable_attr())["_noinline"].set_b(true);
  proto::FunctionDef far = MakeFunction("far", {"x"}, {{"n", "Neg", {"x"}}}, "n:y:0");
  far.mutable_node_def(0)->set_device("/device:CPU:1");
  const proto::FunctionDef inner = MakeFunction(
      "inner", {"x"},
      {{"c", "Const", {}}, {"small", "Less", {"x", "c:output:0"}}, {"if", "StatelessIf", {"small:z:0", "x"}}},
      "if:output:0");
  for (const proto::FunctionDef& def :
       {fixed, far, WithIf(inner, "square", "seven_of"),
        MakeFunction("square", {"x"}, {{"m", "Mul", {"x", "x"}}}, "m:z:0"), MakeFunction("same", {"x"}, {}, "x"),
        MakeFunction("negative", {"x"}, {{"n", "Neg", {"x"}}}, "n:y:0"),
        MakeFunction("seven_of", {"x"}, {{"c", "Const", {}}}, "c:output:0"),
        MakeFunction("small", {"x"}, {{"c", "Const", {}}, {"l", "Less", {"x", "c:output:0"}}}, "l:z:0", proto::DT_BOOL),
        MakeFunction("small_h", {"h", "x"}, {{"c", "Const", {}}, {"l", "Less", {"x", "c:output:0"}}}, "l:z:0",
                     proto::DT_BOOL),
        MakeFunction("bump", {"h", "x"}, {{"one", "Const", {}}, {"add", "AssignAddVariableOp", {"h", "one:output:0"}}},
                     "x"),
        WithHandle(MakeFunction(
            "add", {"h", "x"},
            {{"c", "Const", {}}, {"add", "AssignAddVariableOp", {"h", "c:output:0"}}, {"y", "Add", {"x", "x"}}},
            "y:z:0")),
        MakeFunction("leave", {"h", "x"}, {}, "x")}) {
    EXPECT_TRUE(library->Add(def).ok()) << def.signature().name();
  }
  return Scope(std::make_shared<Graph>(library));
}

Output Fed(const Scope& s, const char* name, DType type = DType::kFloat) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", type}});
}

NameAttrList Named(const std::string& name) { return NameAttrList{name, {}}; }

Node* AddIf(const Scope& s, const std::string& name, Output pred, const std::string& then_branch,
            const std::string& else_branch, std::vector<Output> args) {
  std::vector<Output> inputs = {pred};
  inputs.insert(inputs.end(), args.begin(), args.end());
  return s.WithOpName(name).Add("If", std::move(inputs),
                                Attrs{{"then_branch", Named(then_branch)},
                                      {"else_branch", Named(else_branch)},
                                      {"Tout", std::vector<DType>{DType::kFloat}},
                                      {kLower, true}});
}

Output AddVariable(const Scope& s) {
  Output handle = s.WithOpName("v").Op(
      "VarHandleOp", {},
      {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}, {"shared_name", std::string("v")}});
  s.WithOpName("init").Add("AssignVariableOp", {handle, s.Const(1.f)});
  return handle;
}

Result RunLowered(const Scope& s, const Session::Feeds& feeds, const std::vector<std::string>& fetches,
                  const std::vector<std::string>& first = {}) {
  SessionOptions options;
  options.device_count = {{"CPU", 2}};
  return RunInSession(s, options, feeds, fetches, first);
}

TEST(LoweringTest, AnIfTakesOneBranch) {
  Scope s = LoweringRoot();
  Output p = Fed(s, "p"), taken = Fed(s, "taken", DType::kBool);
  AddIf(s, "if", taken, "square", "seven_of", {p});
  for (const bool take : {true, false}) {
    const Result r = RunLowered(s, {{"p", Tensor::Scalar(3.f)}, {"taken", Tensor::Scalar(take)}}, {"if"});
    EXPECT_EQ(r.values, std::vector<float>{take ? 9.f : 7.f}) << r.status;
    EXPECT_FALSE(r.ran.contains("if"));
    EXPECT_TRUE(r.ran.contains("if/switch_pred"));
  }
}

TEST(LoweringTest, ExecutorsWithOneThreadKeepIt) {
  Scope s = LoweringRoot();
  AddIf(s, "if", Fed(s, "taken", DType::kBool), "square", "same", {Fed(s, "p")});
  proto::ConfigProto config;
  config.mutable_experimental()->set_executor_type("SINGLE_THREADED_EXECUTOR");
  const Result r = RunInSession(s, *SessionOptions::FromProto(config),
                                {{"p", Tensor::Scalar(3.f)}, {"taken", Tensor::Scalar(true)}}, {"if"});
  EXPECT_EQ(r.values, std::vector<float>{9}) << r.status;
  EXPECT_TRUE(r.ran.contains("if"));
}

TEST(LoweringTest, BranchesMayLieOnOtherDevices) {
  Scope s = LoweringRoot();
  AddIf(s, "if", Fed(s, "taken", DType::kBool), "far", "same", {Fed(s, "p")});
  for (const bool take : {true, false}) {
    const Result r = RunLowered(s, {{"p", Tensor::Scalar(3.f)}, {"taken", Tensor::Scalar(take)}}, {"if"});
    EXPECT_EQ(r.values, std::vector<float>{take ? -3.f : 3.f}) << r.status;
  }
}

TEST(LoweringTest, WhatCannotBeTakenApartStays) {
  Scope s = LoweringRoot();
  AddIf(s, "if", Fed(s, "taken", DType::kBool), "fixed", "same", {Fed(s, "p")});
  const Result r = RunLowered(s, {{"p", Tensor::Scalar(3.f)}, {"taken", Tensor::Scalar(true)}}, {"if"});
  EXPECT_EQ(r.values, std::vector<float>{-3}) << r.status;
  EXPECT_TRUE(r.ran.contains("if"));
}

TEST(LoweringTest, PredicatesOfOtherTypesAndConstants) {
  Scope s = LoweringRoot();
  AddIf(s, "if", s.Const(0.f), "square", "negative", {s.Const(3.f)});
  const Result r = RunLowered(s, {}, {"if"});
  EXPECT_EQ(r.values, std::vector<float>{-3}) << r.status;
}

TEST(LoweringTest, ACaseTakesTheLastBranchForWrongNumbers) {
  Scope s = LoweringRoot();
  s.WithOpName("case").Add(
      "StatelessCase", {Fed(s, "which", DType::kInt32), Fed(s, "p")},
      Attrs{{"branches", std::vector<NameAttrList>{Named("square"), Named("same"), Named("inner")}},
            {"Tout", std::vector<DType>{DType::kFloat}},
            {kLower, true}});
  for (const auto& [which, expected] : {std::pair{0, 16.f}, {1, 4.f}, {2, 16.f}, {-1, 16.f}, {5, 16.f}}) {
    const Result r = RunLowered(s, {{"p", Tensor::Scalar(4.f)}, {"which", Tensor::Scalar<int32_t>(which)}}, {"case"});
    EXPECT_EQ(r.values, std::vector<float>{expected}) << which << r.status;
  }
  const Result r = RunLowered(s, {{"p", Tensor::Scalar(9.f)}, {"which", Tensor::Scalar<int32_t>(2)}}, {"case"});
  EXPECT_EQ(r.values, std::vector<float>{7}) << r.status;
  EXPECT_TRUE(r.ran.contains("case/branch2/if/switch_pred"));
}

TEST(LoweringTest, EffectsHappenOnTheBranchTaken) {
  for (const bool take : {true, false}) {
    Scope s = LoweringRoot();
    Output handle = AddVariable(s);
    Node* node = AddIf(s, "if", s.Const(take), "bump", "leave", {handle, s.Const(2.f)});
    s.WithControlDependencies({node}).WithOpName("after").Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    const Result r = RunLowered(s, {}, {"if", "after"}, {"init"});
    EXPECT_EQ(r.values, (std::vector<float>{2, take ? 8.f : 1.f})) << r.status;
    EXPECT_FALSE(r.ran.contains("if"));
    // Nobody reads a result: the branch runs all the same.
    s.WithOpName("value").Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    EXPECT_EQ(RunLowered(s, {}, {"value"}, {"init", "if"}).values, std::vector<float>{take ? 8.f : 1.f});
  }
}

// What no result needs happens only for those who wait for the conditional.
TEST(LoweringTest, ResultsBringNoOtherEffects) {
  Scope s = LoweringRoot();
  Output handle = AddVariable(s);
  Output result(AddIf(s, "if", Fed(s, "taken", DType::kBool), "bump", "leave", {handle, s.Const(2.f)}));
  s.WithControlDependencies({result.node})
      .WithOpName("end")
      .Op("Const", {}, {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(3.f)}});
  const Session::Feeds feeds = {{"taken", Tensor::Scalar(true)}};
  EXPECT_FALSE(RunLowered(s, feeds, {"if"}, {"init"}).ran.contains("if/then/add"));
  EXPECT_TRUE(RunLowered(s, feeds, {"end"}, {"init"}).ran.contains("if/then/add"));
}

TEST(LoweringTest, InsideALoop) {
  Scope s = LoweringRoot();
  const std::vector<Output> loop = WhileLoop(
      s,
      [&](const Scope& b, const std::vector<Output>& v) {
        return b.Op("Less", {v[0], b.Const(100.f)});
      },
      [&](const Scope& b, const std::vector<Output>& v) {
        Output pred = b.Op("Less", {v[0], b.Const(5.f)});
        Output first(AddIf(b, "if", pred, "square", "seven_of", {v[0]}));
        Output second(AddIf(b, "constant", b.Const(true), "negative", "same", {b.Const(-20.f)}));
        return std::vector<Output>{b.Op("Add", {b.Op("Add", {v[0], first}), second})};
      },
      {Fed(s, "p")});
  ASSERT_TRUE(s.ok()) << s.status();
  s.WithOpName("z").Op("Identity", {loop[0]});
  const Result r = RunLowered(s, {{"p", Tensor::Scalar(2.f)}}, {"z"});
  EXPECT_EQ(r.values, std::vector<float>{107}) << r.status;  // 2, 26, 53, 80, 107
}

TEST(LoweringTest, AWhileBecomesALoop) {
  Scope s = LoweringRoot();
  s.WithOpName("while").Add("StatelessWhile", {Fed(s, "p")},
                            Attrs{{"cond", Named("small")}, {"body", Named("square")}, {kLower, true}});
  for (const auto& [from, expected] : {std::pair{2.f, 16.f}, {9.f, 9.f}}) {
    const Result r = RunLowered(s, {{"p", Tensor::Scalar(from)}}, {"while"});
    EXPECT_EQ(r.values, std::vector<float>{expected}) << r.status;
    EXPECT_FALSE(r.ran.contains("while"));
    EXPECT_TRUE(r.ran.contains("while/loop_cond"));
  }
}

// Handles go round as they are, so that it is known where their variables are.
TEST(LoweringTest, ALoopWithEffects) {
  Scope s = LoweringRoot();
  Output handle = AddVariable(s);
  Node* loop = s.WithOpName("while").Add("While", {handle, s.Const(1.f)},
                                         Attrs{{"cond", Named("small_h")}, {"body", Named("add")}, {kLower, true}});
  s.WithControlDependencies({loop}).WithOpName("after").Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  const Result r = RunLowered(s, {}, {"while:1", "after"}, {"init"});
  EXPECT_EQ(r.values, (std::vector<float>{8, 22})) << r.status;  // 1, 2, 4, 8; 1 + 3 * 7
  EXPECT_FALSE(r.ran.contains("while"));
}

// Effects in a branch of the old kind that is not taken do not end the whole body.
TEST(LoweringTest, BranchesOfTheOldKindInABody) {
  const proto::FunctionDef guarded = MakeFunction("guarded", {"h", "x"},
                                                  {{"c", "Const", {}},
                                                   {"small", "Less", {"x", "c:output:0"}},
                                                   {"turn", "Switch", {"x", "small:z:0"}},
                                                   {"add", "AssignAddVariableOp", {"h", "turn:output_true:0"}},
                                                   {"n", "Neg", {"turn:output_true:0", "^add"}},
                                                   {"y", "Merge", {"turn:output_false:0", "n:y:0"}}},
                                                  "y:output:0");
  for (const auto& [x, expected, value] : {std::tuple{2.f, -2.f, 3.f}, {9.f, 9.f, 1.f}}) {
    Scope s = LoweringRoot();
    ASSERT_TRUE(s.graph()->library()->Add(guarded).ok());
    Output handle = AddVariable(s);
    Node* node = AddIf(s, "if", Fed(s, "taken", DType::kBool), "guarded", "leave", {handle, s.Const(x)});
    s.WithControlDependencies({node}).WithOpName("after").Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    const Result r = RunLowered(s, {{"taken", Tensor::Scalar(true)}}, {"if", "after"}, {"init"});
    EXPECT_EQ(r.values, (std::vector<float>{expected, value})) << r.status;
  }
}

// An argument is there before the body begins: there is nothing to wait for.
TEST(LoweringTest, AControlOutputThatIsAnArgument) {
  proto::FunctionDef def = MakeFunction("waits", {"x"}, {{"n", "Neg", {"x"}}}, "n:y:0");
  def.mutable_signature()->add_control_output("c");
  (*def.mutable_control_ret())["c"] = "x";
  Scope s = LoweringRoot();
  ASSERT_TRUE(s.graph()->library()->Add(def).ok());
  Node* node = AddIf(s, "if", Fed(s, "taken", DType::kBool), "waits", "same", {s.Const(2.f)});
  Output call = s.WithOpName("call").Op("StatefulPartitionedCall", {s.Const(3.f)},
                                        {{"f", Named("waits")}, {"Tout", std::vector<DType>{DType::kFloat}}});
  s.WithControlDependencies({node, call.node}).WithOpName("after").Op("Identity", {s.Const(5.f)});
  const Result r = RunLowered(s, {{"taken", Tensor::Scalar(true)}}, {"if", "call", "after"});
  EXPECT_EQ(r.values, (std::vector<float>{-2, -3, 5})) << r.status;
}

// Loops and branches in bodies of loops: constants are of no iteration, and what takes them must be.
TEST(LoweringTest, NestedInAWhile) {
  Scope s = LoweringRoot();
  s.WithOpName("while").Add("While", {Fed(s, "p")},
                            Attrs{{"cond", Named("small")}, {"body", Named("inner")}, {kLower, true}});
  const Result r = RunLowered(s, {{"p", Tensor::Scalar(1.5f)}}, {"while"});
  EXPECT_EQ(r.values, std::vector<float>{25.62890625f}) << r.status;
  EXPECT_TRUE(r.ran.contains("while/body/if/switch_pred"));
}

OP("LoweringTestIsExclusive")
    .Input("x: float")
    .Output("y: float")
    .Shape(UnchangedShape)
    .Cpu([](KernelContext& ctx) {
      ctx.set_output(0, Tensor::Scalar<float>(ctx.InputIsExclusive(0) ? 1 : 0));
      return OkStatus();
    })
    .Doc("Whether its kernel may write into x.");

// In a loop, too, a value is held by nobody whose result nobody takes: lists that grow would be copied each time.
TEST(LoopReadsTest, UnusedResultsHoldNothing) {
  Scope s = LoweringRoot();
  const std::vector<Output> loop = WhileLoop(
      s,
      [&](const Scope& b, const std::vector<Output>& x) {
        return b.Op("Less", {x[0], b.Const(9.f)});
      },
      [&](const Scope& b, const std::vector<Output>& x) {
        const Output first = b.Op("Identity", {x[1]});
        const Output exclusive = b.WithControlDependencies({first.node}).Op("LoweringTestIsExclusive", {x[1]});
        return std::vector<Output>{b.Op("Add", {x[0], b.Const(1.f)}), exclusive};
      },
      {s.Const(0.f), s.Op("Neg", {Fed(s, "p")})});
  ASSERT_TRUE(s.ok()) << s.status();
  s.WithOpName("z").Op("Identity", {loop[1]});
  SessionOptions options;
  options.rewrite = RewriteOptions::None();
  const Result r = RunInSession(s, options, {{"p", Tensor::Scalar(2.f)}}, {"z"});
  EXPECT_EQ(r.values, std::vector<float>{1}) << r.status;
}

// References: TensorFlow hands a variable's own memory into loops and branches.
TEST(LoopReadsTest, ReadersOfReferencesInLoopsSeeUpdates) {
  Scope s = LoweringRoot();
  Output v = s.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  s.WithOpName("init").Op("Assign", {v, s.Const(2.f)});
  Output read = s.WithOpName("read").Op("Identity", {v});
  const std::vector<Output> loop = WhileLoop(
      s,
      [&](const Scope& b, const std::vector<Output>& x) {
        return b.Op("Less", {x[0], b.Const(4.f)});
      },
      [&](const Scope& b, const std::vector<Output>& x) {
        const std::vector<Output> taken = Cond(
            b, b.Op("Less", {x[0], b.Const(9.f)}),
            [&](const Scope& t) {
              return std::vector<Output>{t.Op("Assign", {t.Import(v), t.Op("Square", {t.Import(read)})})};
            },
            [&](const Scope& t) { return std::vector<Output>{t.Op("Identity", {t.Import(read)})}; });
        return std::vector<Output>{b.WithControlDependencies({taken[0].node}).Op("Add", {x[0], b.Const(1.f)})};
      },
      {s.Const(0.f)});
  ASSERT_TRUE(s.ok()) << s.status();
  s.WithControlDependencies({loop[0].node}).WithOpName("after").Op("Neg", {v});
  const Result r = RunLowered(s, {}, {"after"}, {"init"});
  EXPECT_EQ(r.values, std::vector<float>{-65536}) << r.status;
}

}  // namespace
}  // namespace millstream
