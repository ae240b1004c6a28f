// SPDX-License-Identifier: Apache-2.0
// Graphs that are deep, wide or tangled: passes and executors must not need a stack or a time that grows with them.
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;
using Vars = std::vector<Output>;

constexpr int kMany = 100'000;

// With and without rewrites.
class HostileDepthTest : public ::testing::TestWithParam<bool> {
 protected:
  static SessionOptions Options() {
    SessionOptions options;
    if (!GetParam()) options.rewrite = RewriteOptions::None();
    return options;
  }
  static Output Placeholder(const Scope& s) {  // nothing is folded
    return s.Op("RandomUniform", {s.Const(Tensor(DType::kInt32, Shape({0})))}, {{"dtype", DType::kFloat}});
  }
};
INSTANTIATE_TEST_SUITE_P(Rewrites, HostileDepthTest, ::testing::Bool());

TEST_P(HostileDepthTest, Chain) {
  for (const char* op : {"Identity", "Neg"}) {
    for (const bool constant : {false, true}) {
      ExpectSurvives({kOk}, [op, constant] {
        Scope s = Scope::Root();
        Output x = constant ? s.Const(1.f) : Placeholder(s);
        for (int i = 0; i < kMany; ++i) x = s.Op(op, {x});
        return RunOnce(s, x.name(), "", Options());
      });
    }
  }
}

TEST_P(HostileDepthTest, ChainOfControlDependencies) {
  ExpectSurvives({kOk}, [] {
    Scope s = Scope::Root();
    Node* last = s.Add("NoOp", {});
    for (int i = 0; i < kMany; ++i) last = s.WithControlDependencies({last}).Add("NoOp", {});
    return RunOnce(s, "", last->name(), Options());
  });
}

// 2^n paths from the first node to the last.
TEST_P(HostileDepthTest, Diamonds) {
  ExpectSurvives({kOk}, [] {
    Scope s = Scope::Root();
    Output x = Placeholder(s);
    for (int i = 0; i < kMany; ++i) x = s.Op("AddV2", {x, x});
    return RunOnce(s, x.name(), "", Options());
  });
}

TEST_P(HostileDepthTest, GradientOfDiamonds) {
  ExpectSurvives({kOk}, [] {
    Scope s = Scope::Root();
    Output x = s.Op("Identity", {Placeholder(s)}), y = x;
    for (int i = 0; i < 10'000; ++i) y = s.Op("Mul", {y, y});
    std::vector<Grad> gradients;
    RETURN_IF_ERROR(AddSymbolicGradients(s, {y}, {x}, {}, &gradients));
    return RunOnce(s, gradients[0].dense.name(), "", Options());
  });
}

TEST_P(HostileDepthTest, FanOutAndFanIn) {
  ExpectSurvives({kOk, kInvalidArgument}, [] {
    Scope s = Scope::Root();
    Output x = Placeholder(s);
    Vars all;
    for (int i = 0; i < 60'000; ++i) all.push_back(s.Op("Neg", {x}));
    return RunOnce(s, s.Op("AddN", all).name(), "", Options());
  });
}

// More inputs than the arrays of an executor have room for.
TEST_P(HostileDepthTest, MoreInputsThanFit) {
  for (const int n : {32'767, 32'768, 40'000, 65'535, 65'536, 70'000}) {
    ExpectSurvives({kOk, kInvalidArgument}, [n] {
      Scope s = Scope::Root();
      Node* const branch = s.Add("Switch", {Placeholder(s), s.Const(true)});
      Vars all(static_cast<size_t>(n), Output(branch, 0));
      all.back() = Output(branch, 1);
      return RunOnce(s, s.Op("Merge", all).name(), "", Options());
    });
  }
}

TEST_P(HostileDepthTest, EveryNodeWaitsForAllBefore) {
  ExpectSurvives({kOk}, [] {
    Scope s = Scope::Root();
    std::vector<Node*> nodes = {s.Add("NoOp", {})};
    for (int i = 0; i < 1500; ++i) nodes.push_back(s.WithControlDependencies(nodes).Add("NoOp", {}));
    return RunOnce(s, "", nodes.back()->name(), Options());
  });
}

Vars NestedConditionals(const Scope& s, Output p, Output x, int depth) {
  if (depth == 0) return {s.Op("Neg", {x})};
  return Cond(
      s, p, [&](const Scope& in) { return NestedConditionals(in, p, x, depth - 1); },
      [&](const Scope& in) { return Vars{in.Op("Identity", {x})}; });
}

TEST_P(HostileDepthTest, NestedConditionals) {
  ExpectSurvives({kOk, kResourceExhausted, kInvalidArgument}, [] {
    Scope s = Scope::Root();
    const Vars out = NestedConditionals(s, s.Op("Identity", {s.Const(true)}), Placeholder(s), 300);
    return RunOnce(s, out.empty() ? "none" : out[0].name(), "", Options());
  });
}

// Loops in loops, as nodes: builders would need a stack of their own.
std::string LoopsInLoops(int depth) {
  std::string text =
      "node { name: 'x0' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
      "{ dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }";
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(
        &text, "node { ",
        NodeInText(absl::StrCat("x", i + 1), "Enter", {absl::StrCat("x", i)},
                   absl::StrCat("attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'frame_name' value { "
                                "s: 'f",
                                i, "' } }")),
        " }");
  }
  for (int i = depth; i < 2 * depth; ++i) {
    absl::StrAppend(&text, "node { ",
                    NodeInText(absl::StrCat("x", i + 1), "Exit", {absl::StrCat("x", i)},
                               "attr { key: 'T' value { type: DT_FLOAT } }"),
                    " }");
  }
  return text;
}

TEST_P(HostileDepthTest, LoopsInLoops) {
  ExpectSurvives({kOk, kResourceExhausted, kInvalidArgument},
                 [] { return RunText(LoopsInLoops(20'000), "x40000:0", Options()); });
}

TEST_P(HostileDepthTest, ManyThreadsAskedFor) {
  ExpectSurvives({kOk, kInvalidArgument, kResourceExhausted}, [] {
    Scope s = Scope::Root();
    s.WithOpName("y").Op("Neg", {Placeholder(s)});
    SessionOptions options = Options();
    options.inter_op_threads = 1 << 30;
    options.intra_op_threads = 1 << 30;
    return RunOnce(s, "y:0", "", options);
  });
}

}  // namespace
}  // namespace millstream
