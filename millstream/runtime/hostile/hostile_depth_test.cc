// SPDX-License-Identifier: Apache-2.0
// Graphs that are deep, wide or tangled: passes and executors must not need a stack or a time that grows with them.
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/proto/graph.pb.h"
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

// Functions in attributes of functions, `depth` times. Never freed: protobuf's own destructor needs a stack that grows
// with the depth, whoever makes such a message.
proto::GraphDef& NestedAttributes(int depth) {
  auto& def = *new proto::GraphDef;
  proto::NodeDef* node = def.add_node();
  node->set_name("n");
  node->set_op("NoOp");
  proto::AttrValue* value = &(*node->mutable_attr())["_f"];
  for (int i = 0; i < depth; ++i) {
    proto::NameAttrList* function = value->mutable_func();
    function->set_name("f");
    value = &(*function->mutable_attr())["a"];
  }
  return def;
}

Status CreateAndRun(const proto::GraphDef& def, const SessionOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(options));
  RETURN_IF_ERROR(session->Create(def));
  return session->Run({}, {}, {"n"}, nullptr);
}

TEST_P(HostileDepthTest, NestedAttributes) {
  for (const int depth : {40, 20'000, 200'000})
    ExpectSurvives({kInvalidArgument}, [depth] { return CreateAndRun(NestedAttributes(depth), Options()); });
  ExpectSurvives({kOk}, [] { return CreateAndRun(NestedAttributes(20), Options()); });
}

TEST_P(HostileDepthTest, NestedAttributesInFunctions) {
  for (const int depth : {20'000, 200'000}) {
    ExpectSurvives({kInvalidArgument}, [depth] {
      proto::GraphDef& def = NestedAttributes(depth);
      auto& with_library = *new proto::GraphDef;
      proto::FunctionDef* function = with_library.mutable_library()->add_function();
      function->mutable_signature()->set_name("f");
      function->mutable_node_def()->AddAllocated(def.mutable_node()->ReleaseLast());
      proto::NodeDef* node = with_library.add_node();
      node->set_name("n");
      node->set_op("NoOp");
      return CreateAndRun(with_library, Options());
    });
  }
}

// As they come from files and from the network: protobuf's limit of 100 levels ends that before there is a message.
TEST_P(HostileDepthTest, NestedAttributesInBytes) {
  ExpectSurvives({kInvalidArgument}, [] {
    // From the inside: AttrValue { func (10) { attr (2) { key (1), value (2) } } }.
    std::string backwards;  // prepending is linear this way
    const auto prepend = [&](char tag) {
      size_t size = backwards.size();
      std::string varint;
      for (; size >= 128; size >>= 7) varint.push_back(static_cast<char>(size | 128));
      varint.push_back(static_cast<char>(size));
      backwards.append(varint.rbegin(), varint.rend());
      backwards.push_back(tag);
    };
    for (int i = 0; i < 20'000; ++i) {
      prepend(0x12);                  // value
      backwards.append("a\x01\x0a");  // key, backwards
      prepend(0x12);                  // attr
      prepend(0x52);                  // func
    }
    proto::AttrValue value;
    return value.ParseFromString(std::string(backwards.rbegin(), backwards.rend()))
               ? errors::Internal("parsed")
               : errors::InvalidArgument("refused");
  });
}

TEST_P(HostileDepthTest, ManyThreadsAskedFor) {
  for (const auto& [inter, intra] :
       {std::pair(1 << 30, 1 << 30), {1 << 30, 1}, {1, 1 << 30}, {1025, 1}, {1024, 1023}}) {
    const bool too_many = std::max(inter, intra) > 1024;
    ExpectSurvives({too_many ? kInvalidArgument : kOk, kResourceExhausted}, [inter = inter, intra = intra] {
      Scope s = Scope::Root();
      s.WithOpName("y").Op("Neg", {Placeholder(s)});
      SessionOptions options = Options();
      options.inter_op_threads = inter;
      options.intra_op_threads = intra;
      return RunOnce(s, "y:0", "", options);
    });
  }
}

}  // namespace
}  // namespace millstream
