// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/runtime/testing/function_text.h"

namespace millstream {
namespace {

using Result = GraphResult;

std::shared_ptr<FunctionLibrary> Library() {
  auto library = std::make_shared<FunctionLibrary>();
  proto::FunctionDef fixed = MakeFunction("fixed", {"x"}, {{"n", "Neg", {"x"}}}, "n:y:0");
  (*fixed.mutable_attr())["_noinline"].set_b(true);
  for (const proto::FunctionDef& def :
       {fixed, MakeFunction("square", {"x"}, {{"m", "Mul", {"x", "x"}}}, "m:z:0"),
        MakeFunction("fourth", {"x"}, {{"a", "square", {"x"}}, {"b", "square", {"a:y:0"}}}, "b:y:0"),
        MakeFunction("same", {"x"}, {}, "x"), MakeFunction("seven", {}, {{"c", "Const", {}}}, "c:output:0"),
        MakeFunction("seven_of", {"x"}, {{"c", "Const", {}}}, "c:output:0"),
        MakeFunction("forever", {"x"}, {{"again", "forever", {"x"}}}, "again:y:0"),
        // Adds after the argument was made, although nothing else says so; gives back the argument.
        MakeFunction("bump", {"h", "x"}, {{"one", "Const", {}}, {"add", "AssignAddVariableOp", {"h", "one:output:0"}}},
                     "x"),
        MakeFunction("bump_twice", {"h", "x"}, {{"a", "bump", {"h", "x"}}, {"b", "bump", {"h", "a:y:0"}}}, "b:y:0")}) {
    EXPECT_TRUE(library->Add(def).ok()) << def.signature().name();
  }
  return library;
}

Scope Root() { return Scope(std::make_shared<Graph>(Library())); }

Node* Call(const Scope& s, const std::string& name, const std::string& function, std::vector<Output> args) {
  const bool stateful = function.starts_with("bump");
  return s.WithOpName(name).Add(stateful ? "StatefulPartitionedCall" : "PartitionedCall", std::move(args),
                                Attrs{{"f", NameAttrList{function, {}}}, {"Tout", std::vector<DType>{DType::kFloat}}});
}

Output Placeholder(const Scope& s, const char* name, DType type = DType::kFloat) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", type}});
}

Result RunGraph(const Scope& s, bool inlining, const Session::Feeds& feeds, const std::vector<std::string>& fetches,
                const std::vector<std::string>& first = {}) {
  SessionOptions options;
  options.rewrite.function_inlining = inlining;
  options.rewrite.fusion = false;  // nodes keep their names
  return RunInSession(s, options, feeds, fetches, first);
}

TEST(InliningTest, PutsBodiesInPlace) {
  Scope s = Root();
  Call(s, "call", "fourth", {Placeholder(s, "p")});
  const Session::Feeds feeds = {{"p", Tensor::Scalar(3.f)}};
  const Result with = RunGraph(s, true, feeds, {"call"});
  EXPECT_EQ(with.values, std::vector<float>{81}) << with.status;
  EXPECT_FALSE(with.ran.contains("call"));
  EXPECT_TRUE(with.ran.contains("call/b/m"));
  const Result without = RunGraph(s, false, feeds, {"call"});
  EXPECT_EQ(without.values, std::vector<float>{81}) << without.status;
  EXPECT_FALSE(without.ran.contains("call/b/m"));
}

TEST(InliningTest, LeavesSomeCallsAlone) {
  Scope s = Root();
  Output p = Placeholder(s, "p");
  Call(s, "fixed", "fixed", {p});
  Call(s, "missing", "nowhere", {p});
  Call(s, "wrong", "square", {p, p});
  const Session::Feeds feeds = {{"p", Tensor::Scalar(3.f)}};
  const Result fixed = RunGraph(s, true, feeds, {"fixed"});
  EXPECT_EQ(fixed.values, std::vector<float>{-3}) << fixed.status;
  EXPECT_FALSE(fixed.ran.contains("fixed/n"));
  for (const char* bad : {"missing", "wrong"}) {
    EXPECT_EQ(RunGraph(s, true, feeds, {bad}).status, RunGraph(s, false, feeds, {bad}).status);
    EXPECT_FALSE(RunGraph(s, true, feeds, {bad}).status.ok());
  }
}

TEST(InliningTest, ResultsMayBeArgumentsOrConstants) {
  Scope s = Root();
  Call(s, "same", "same", {Placeholder(s, "p")});
  Call(s, "seven", "seven", {});
  const Result r = RunGraph(s, true, {{"p", Tensor::Scalar(3.f)}}, {"same", "seven"});
  EXPECT_EQ(r.values, (std::vector<float>{3, 7})) << r.status;
}

TEST(InliningTest, EffectsHappenInOrder) {
  for (const bool inlining : {true, false}) {
    Scope s = Root();
    Output handle = s.WithOpName("v").Op(
        "VarHandleOp", {},
        {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}, {"shared_name", std::string("v")}});
    s.WithOpName("init").Add("AssignVariableOp", {handle, s.Const(1.f)});
    Output before = s.WithOpName("before").Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    Node* call = Call(s, "call", "bump_twice", {handle, before});
    s.WithControlDependencies({call}).WithOpName("after").Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    // Whoever has a result sees the effects too.
    Output late = s.WithOpName("late").Op("Identity", {Output(call)});
    s.WithControlDependencies({late.node})
        .WithOpName("seen")
        .Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    const Result r = RunGraph(s, inlining, {}, {"before", "call", "after", "seen"}, {"init"});
    EXPECT_EQ(r.values, (std::vector<float>{1, 1, 15, 15})) << r.status;
    EXPECT_EQ(r.ran.contains("call/b/add"), inlining);
    EXPECT_EQ(RunGraph(s, inlining, {}, {"late"}, {"init", "call"}).values, std::vector<float>{15});
  }
}

TEST(InliningTest, BranchesAndLoops) {
  for (const bool inlining : {true, false}) {
    Scope s = Root();
    Output p = Placeholder(s, "p"), taken = Placeholder(s, "taken", DType::kBool);
    const std::vector<Output> y = Cond(
        s, taken,
        [&](const Scope& b) { return std::vector<Output>{Output(Call(b, "then", "seven_of", {b.Import(p)}))}; },
        [&](const Scope& b) { return std::vector<Output>{Output(Call(b, "else", "fourth", {b.Import(p)}))}; });
    ASSERT_TRUE(s.ok()) << s.status();
    s.WithOpName("y").Op("Identity", {y[0]});
    for (const bool take : {true, false}) {
      const Result r = RunGraph(s, inlining, {{"p", Tensor::Scalar(2.f)}, {"taken", Tensor::Scalar(take)}}, {"y"});
      EXPECT_EQ(r.values, std::vector<float>{take ? 7.f : 16.f}) << r.status;
    }
    const std::vector<Output> loop = WhileLoop(
        s,
        [&](const Scope& b, const std::vector<Output>& v) {
          return b.Op("Less", {v[0], b.Const(100.f)});
        },
        [&](const Scope& b, const std::vector<Output>& v) {
          const Output seven(Call(b, "in_loop", "seven_of", {v[0]}));
          return std::vector<Output>{b.Op("Add", {seven, Output(Call(b, "also_in_loop", "square", {v[0]}))})};
        },
        {p});
    ASSERT_TRUE(s.ok()) << s.status();
    s.WithOpName("z").Op("Identity", {loop[0]});
    const Result r = RunGraph(s, inlining, {{"p", Tensor::Scalar(2.f)}}, {"z"});
    EXPECT_EQ(r.values, std::vector<float>{128}) << r.status;  // 2, 11, 128
  }
}

TEST(InliningTest, ARecursiveFunctionEnds) {
  Scope s = Root();
  Call(s, "call", "forever", {Placeholder(s, "p")});
  ASSERT_TRUE(s.ok());
  auto session = NewSession({});
  ASSERT_TRUE((*session)->Extend(*s.graph()).ok());
  const Status status = (*session)->Run({{"p", Tensor::Scalar(3.f)}}, {"call"}, {}, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

}  // namespace
}  // namespace millstream
