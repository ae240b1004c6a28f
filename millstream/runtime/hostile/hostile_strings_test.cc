// SPDX-License-Identifier: Apache-2.0
// Strings that grow: small programs whose values would be larger than any machine.
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;

// With and without folding: a step and planning run kernels in different places.
class HostileStringsTest : public ::testing::TestWithParam<bool> {
 protected:
  static SessionOptions Options() {
    SessionOptions options;
    if (!GetParam()) options.rewrite = RewriteOptions::None();
    return options;
  }
  static Output Text(const Scope& s, const std::string& value) { return s.Const(Tensor::Scalar<std::string>(value)); }
  static Output Megabyte(const Scope& s) { return Text(s, std::string(1 << 20, 'a')); }
  static Output Filled(const Scope& s, int32_t n, Output value) { return s.Op("Fill", {s.Constant({n}), value}); }
  static Status Fetch(const Scope& s, Output value) { return RunOnce(s, value ? value.name() : "none", "", Options()); }
};
INSTANTIATE_TEST_SUITE_P(Folding, HostileStringsTest, ::testing::Bool());

TEST_P(HostileStringsTest, Doubling) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output x = Text(s, "0123456789abcdef");
    for (int i = 0; i < 60; ++i) x = s.Op("StringJoin", {x, x});
    return Fetch(s, x);
  });
}

TEST_P(HostileStringsTest, DoublingInALoop) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    const std::vector<Output> out = WhileLoop(
        s, [](const Scope& in, const std::vector<Output>&) { return in.Const(true); },
        [](const Scope& in, const std::vector<Output>& v) {
          return std::vector<Output>{in.Op("StringJoin", {v[0], v[0]})};
        },
        {Text(s, "0123456789abcdef")});
    return Fetch(s, out.empty() ? Output() : out[0]);
  });
}

// Each string is small, all together are not.
TEST_P(HostileStringsTest, ManyFromOne) {
  for (const int32_t bytes : {20, 1000, 40'000, 1 << 20}) {
    ExpectSurvives({kResourceExhausted}, [bytes] {
      Scope s = Scope::Root();
      const int32_t count = static_cast<int32_t>((int64_t{4} << 30) / (bytes + 32));
      return Fetch(s, Filled(s, count, Text(s, std::string(static_cast<size_t>(bytes), 'a'))));
    });
  }
}

TEST_P(HostileStringsTest, Joined) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("StringJoin", {Filled(s, 1 << 20, Text(s, "")), Text(s, std::string(5000, 'a'))}));
  });
}

TEST_P(HostileStringsTest, JoinedAlongAnAxis) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("ReduceJoin", {Filled(s, 1 << 20, Text(s, "")), s.Constant({0})},
                         {{"separator", std::string(5000, 'a')}}));
  });
}

TEST_P(HostileStringsTest, Tiled) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("Tile", {Filled(s, 16, Megabyte(s)), s.Constant({1000})}));
  });
}

TEST_P(HostileStringsTest, GatheredAndConcatenated) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output x = Filled(s, 2, Megabyte(s));
    for (int i = 0; i < 30; ++i) x = s.Op("ConcatV2", {x, x, s.Const<int32_t>(0)});
    return Fetch(s, x);
  });
}

TEST_P(HostileStringsTest, ReplacedByMore) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output x = Text(s, "a");
    for (int i = 0; i < 8; ++i) {
      x = s.Op("StaticRegexReplace", {x}, {{"pattern", "a"}, {"rewrite", std::string(1000, 'a')}});
    }
    return Fetch(s, x);
  });
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("RegexReplace", {Megabyte(s), Text(s, ""), Text(s, std::string(10'000, 'b'))}));
  });
}

TEST_P(HostileStringsTest, EncodedAgainAndAgain) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output x = Megabyte(s);
    for (int i = 0; i < 100; ++i) x = s.Op("EncodeBase64", {x});
    return Fetch(s, x);
  });
}

TEST_P(HostileStringsTest, NumbersOfMuchWidth) {
  for (const int64_t width : {int64_t{1} << 20, int64_t{1} << 30, (int64_t{1} << 31) - 1, int64_t{1} << 40}) {
    for (const bool precision : {false, true}) {
      ExpectSurvives({kResourceExhausted, kInvalidArgument}, [width, precision] {
        Scope s = Scope::Root();
        Output x = s.Op("Fill", {s.Constant({4096}), s.Const(1.f)});
        return Fetch(
            s, precision ? s.Op("AsString", {x}, {{"precision", width}}) : s.Op("AsString", {x}, {{"width", width}}));
      });
    }
  }
}

TEST_P(HostileStringsTest, PrintedWhole) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output x = s.Op("Fill", {s.Constant({1 << 26}), s.Const(1.2345678e-30f)});
    return Fetch(s, s.Op("StringFormat", {x}, {{"summarize", int64_t{-1}}, {"template", "%s"}}));
  });
}

TEST_P(HostileStringsTest, SplitIntoMany) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Node* split = s.Add("StringSplitV2", {Filled(s, 64, Megabyte(s)), Text(s, "a")}, {});
    return Fetch(s, Output(split, 1));
  });
}

TEST_P(HostileStringsTest, NGramsOfAllWidths) {
  ExpectSurvives({kResourceExhausted, kInvalidArgument}, [] {
    Scope s = Scope::Root();
    Node* grams = s.Add("StringNGrams",
                        {Filled(s, 5000, Text(s, std::string(100, 'a'))), s.Const(Tensor::Vector<int64_t>({0, 5000}))},
                        {{"separator", ""},
                         {"ngram_widths", std::vector<int64_t>{2500}},
                         {"left_pad", ""},
                         {"right_pad", ""},
                         {"pad_width", int64_t{0}},
                         {"preserve_short_sequences", false},
                         {"Tsplits", DType::kInt64}});
    return Fetch(s, Output(grams, 0));
  });
}

TEST_P(HostileStringsTest, PatternsThatTakeTime) {
  // RE2 has no exponential patterns, but ones that need much memory when they are compiled.
  for (const std::string pattern : {"(a*)*b", "((a{1,1000}){1,1000}){1,1000}",
                                    "(((((((((a{0,9}){0,9}){0,9}){0,9}){0,9}){0,9}){0,9}){0,9}){0,9})"}) {
    ExpectSurvives({kOk, kResourceExhausted, kInvalidArgument}, [pattern] {
      Scope s = Scope::Root();
      return Fetch(s, s.Op("RegexFullMatch", {Megabyte(s), Text(s, pattern)}));
    });
  }
  ExpectSurvives({kOk, kResourceExhausted, kInvalidArgument}, [] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("RegexFullMatch", {Megabyte(s), Text(s, std::string(1 << 20, '('))}));
  });
}

TEST_P(HostileStringsTest, InTheErrorOfAnAssertion) {
  ExpectSurvives({kInvalidArgument, kResourceExhausted}, [] {
    Scope s = Scope::Root();
    s.WithOpName("check").Add("Assert", {s.Op("Less", {s.Const(2.f), s.Const(1.f)}), Filled(s, 100, Megabyte(s))},
                              {{"summarize", int64_t{1000000}}});
    return RunOnce(s, "", "check", Options());
  });
}

TEST_P(HostileStringsTest, WithNulAndInNames) {
  ExpectSurvives({kOk}, [] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("StringJoin", {Text(s, std::string("a\0b", 3)), Text(s, std::string(1, '\0'))}));
  });
  ExpectSurvives({kOk, kInvalidArgument, kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output x = s.WithOpName(std::string(1 << 20, 'n')).Const(1.f);
    for (int i = 0; i < 100; ++i) x = s.WithOpName(std::string(1 << 20, 'n') + std::to_string(i)).Op("Neg", {x});
    return Fetch(s, x);
  });
  // An error names the node.
  ExpectSurvives({kInvalidArgument}, [] {
    Scope s = Scope::Root();
    return Fetch(
        s, s.WithOpName(std::string(1 << 20, 'n')).Op("DecodeRaw", {Text(s, "abc")}, {{"out_type", DType::kInt64}}));
  });
}

}  // namespace
}  // namespace millstream
