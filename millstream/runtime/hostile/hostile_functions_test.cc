// SPDX-License-Identifier: Apache-2.0
// Functions that call themselves, each other, or more than anybody can hold.
#include <gtest/gtest.h>

#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;

const char kConst[] =
    "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
    "dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }";
const char kT[] = "attr { key: 'T' value { type: DT_FLOAT } }";

std::string Body(const std::string& node) { return absl::StrCat("node_def { ", node, " } "); }
std::string Program(const std::string& functions, const std::string& call) {
  return absl::StrCat("library { ", functions, " } ", kConst, " node { ", NodeInText("y", call, {"c"}), " }");
}
std::string Result(int i) { return absl::StrCat("n", i, ":y:0"); }
std::string Noinline(std::string function) {
  function.insert(function.rfind('}'), " attr { key: '_noinline' value { b: true } } ");
  return function;
}

Status RunProgram(const std::string& functions, const std::string& call, bool inlined) {
  SessionOptions options;
  options.rewrite.function_inlining = inlined;
  return RunText(Program(functions, call), "y:0", options);
}

class HostileFunctionsTest : public ::testing::TestWithParam<bool> {};  // whether functions are inlined
INSTANTIATE_TEST_SUITE_P(Inlining, HostileFunctionsTest, ::testing::Bool());

TEST_P(HostileFunctionsTest, CallsItself) {
  ExpectSurvives({kResourceExhausted}, [] {
    return RunProgram(FunctionInText("f", Body(NodeInText("n0", "f", {"x"})), Result(0)), "f", GetParam());
  });
}

TEST_P(HostileFunctionsTest, CallsItselfTwice) {
  ExpectSurvives({kResourceExhausted}, [] {
    return RunProgram(
        FunctionInText("f", Body(NodeInText("n0", "f", {"x"})) + Body(NodeInText("n1", "f", {Result(0)})), Result(1)),
        "f", GetParam());
  });
}

TEST_P(HostileFunctionsTest, CallsItselfSideBySide) {
  ExpectSurvives({kResourceExhausted}, [] {
    std::string body, sum = "x";
    for (int i = 0; i < 64; ++i) body += Body(NodeInText(absl::StrCat("n", i), "f", {"x"}));
    for (int i = 0; i < 64; ++i) {
      body += Body(NodeInText(absl::StrCat("a", i), "AddV2", {sum, Result(i)}, kT));
      sum = absl::StrCat("a", i, ":z:0");
    }
    return RunProgram(FunctionInText("f", body, sum), "f", GetParam());
  });
}

// A body of many nodes takes room for their values in every call.
TEST_P(HostileFunctionsTest, CallsItselfWithAWideBody) {
  ExpectSurvives({kResourceExhausted}, [] {
    std::string body = Body(NodeInText("n0", "f", {"x"}));
    std::string sum = Result(0);
    for (int i = 0; i < 20'000; ++i) {
      body += Body(NodeInText(absl::StrCat("a", i), "AddV2", {"x", sum}, kT));
      sum = absl::StrCat("a", i, ":z:0");
    }
    return RunProgram(FunctionInText("f", body, sum), "f", GetParam());
  });
}

TEST_P(HostileFunctionsTest, EachCallsTheOneBelowTwice) {
  ExpectSurvives({kResourceExhausted, kDeadlineExceeded}, [] {
    std::string functions = FunctionInText("f0", Body(NodeInText("n0", "Neg", {"x"}, kT)), Result(0));
    for (int i = 1; i <= 60; ++i) {
      const std::string below = absl::StrCat("f", i - 1);
      functions +=
          FunctionInText(absl::StrCat("f", i),
                         Body(NodeInText("n0", below, {"x"})) + Body(NodeInText("n1", below, {Result(0)})), Result(1));
    }
    SessionOptions options;
    options.rewrite.function_inlining = GetParam();
    options.operation_timeout_ms = 10'000;  // 2^60 calls: nothing but time ends that
    return RunText(Program(functions, "f60"), "y:0", options);
  });
}

TEST_P(HostileFunctionsTest, LongChainOfFunctions) {
  ExpectSurvives({kOk, kResourceExhausted}, [] {
    constexpr int kLength = 20'000;
    std::string functions = FunctionInText("f0", Body(NodeInText("n0", "Neg", {"x"}, kT)), Result(0));
    for (int i = 1; i <= kLength; ++i) {
      functions +=
          FunctionInText(absl::StrCat("f", i), Body(NodeInText("n0", absl::StrCat("f", i - 1), {"x"})), Result(0));
    }
    return RunProgram(functions, absl::StrCat("f", kLength), GetParam());
  });
}

std::string Calls(const std::string& key, const std::string& function) {
  return absl::StrCat("attr { key: '", key, "' value { func { name: '", function, "' } } }");
}
const char kOneFloat[] =
    "attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }";

TEST_P(HostileFunctionsTest, ConditionalInItsOwnBranch) {
  for (const bool lowered : {false, true}) {
    ExpectSurvives({kResourceExhausted}, [lowered] {
      const std::string attrs =
          absl::StrCat("attr { key: 'Tcond' value { type: DT_FLOAT } }", kOneFloat, Calls("then_branch", "f"),
                       Calls("else_branch", "f"),
                       "attr { key: '_lower_using_switch_merge' value { b: ", lowered ? "true" : "false", " } }");
      const std::string f =
          FunctionInText("f", Body(NodeInText("n0", "StatelessIf", {"x", "x"}, attrs)), "n0:output:0");
      SessionOptions options;
      options.rewrite.function_inlining = GetParam();
      return RunText(absl::StrCat("library { ", f, " } ", kConst, " node { ",
                                  NodeInText("y", "StatelessIf", {"c", "c"}, attrs), " }"),
                     "y:0", options);
    });
  }
}

TEST_P(HostileFunctionsTest, LoopInItsOwnBody) {
  for (const bool lowered : {false, true}) {
    ExpectSurvives({kResourceExhausted}, [lowered] {
      const std::string attrs = absl::StrCat(
          "attr { key: 'T' value { list { type: DT_FLOAT } } }", Calls("cond", "positive"), Calls("body", "f"),
          "attr { key: '_lower_using_switch_merge' value { b: ", lowered ? "true" : "false", " } }");
      const std::string f = FunctionInText("f", Body(NodeInText("n0", "StatelessWhile", {"x"}, attrs)), "n0:output:0");
      const std::string positive =
          "function { signature { name: 'positive' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: "
          "DT_BOOL } } node_def { name: 'l' op: 'Less' input: 'x' input: 'c:output:0' attr { key: 'T' value { type: "
          "DT_FLOAT } } } node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
          "'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 9 } } } } ret { key: 'y' value: "
          "'l:z:0' } }";
      SessionOptions options;
      options.rewrite.function_inlining = GetParam();
      return RunText(absl::StrCat("library { ", f, positive, " } ", kConst, " node { ",
                                  NodeInText("y", "StatelessWhile", {"c"}, attrs), " }"),
                     "y:0", options);
    });
  }
}

// The gradient of a function that calls itself, and gradients of gradients.
TEST_P(HostileFunctionsTest, GradientOfRecursion) {
  ExpectSurvives({kResourceExhausted, kInvalidArgument, kUnimplemented, kNotFound}, [] {
    const std::string f =
        FunctionInText("f", Body(NodeInText("n0", "f", {"x"})) + Body(NodeInText("n1", "f", {Result(0)})), Result(1));
    const std::string attrs = absl::StrCat(
        "attr { key: 'Tin' value { list { type: DT_FLOAT type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: "
        "DT_FLOAT } } }",
        Calls("f", "f"));
    SessionOptions options;
    options.rewrite.function_inlining = GetParam();
    return RunText(absl::StrCat("library { ", f, " } ", kConst, " node { ",
                                NodeInText("y", "SymbolicGradient", {"c", "c"}, attrs), " }"),
                   "y:0", options);
  });
}

TEST(HostileFunctionsTest, RecursionThatIsNotInlined) {
  ExpectSurvives({kResourceExhausted}, [] {
    return RunProgram(Noinline(FunctionInText("f", Body(NodeInText("n0", "f", {"x"})), Result(0))), "f", true);
  });
}

}  // namespace
}  // namespace millstream
