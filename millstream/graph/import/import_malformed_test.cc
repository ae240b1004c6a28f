// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/graph/testing/malformed.h"

namespace millstream {
namespace {

std::string Merge(const std::string& name, const std::string& a, const std::string& b) {
  return NodeText(name, "Merge", In(a) + In(b) + Type("T") + Attr("N", "i: 2"));
}
std::string Next(const std::string& name, const std::string& input) {
  return NodeText(name, "NextIteration", In(input) + Type("T"));
}
std::string NoOp(const std::string& name, const std::string& rest = "") { return NodeText(name, "NoOp", rest); }

constexpr char kIllegal[] = "Illegal op name";
constexpr char kArity[] = "NodeDef expected inputs";

const MalformedGraph kNames[] = {
    {"Empty", NoOp(""), kBad, kIllegal, "{{node }}"},
    {"Dots", NoOp("../a b"), kBad, kIllegal, "{{node ../a b}}"},
    {"Space", NoOp("a b"), kBad, kIllegal, "{{node a b}}"},
    {"Colon", NoOp("a:0"), kBad, kIllegal, "{{node a:0}}"},
    {"Caret", NoOp("^a"), kBad, kIllegal, "{{node ^a}}"},
    {"SlashFirst", NoOp("/a"), kBad, kIllegal, "{{node /a}}"},
    {"MinusFirst", NoOp("-a"), kBad, kIllegal, "{{node -a}}"},
    {"GreaterFirst", NoOp(">a"), kBad, kIllegal, "{{node >a}}"},
    {"Percent", NoOp("a%s"), kBad, kIllegal, "{{node a%s}}"},
    {"Newline", NoOp("a\\nb"), kBad, kIllegal, "a\nb"},
    {"Nul", NoOp("a\\000b"), kBad, kIllegal, ""},
    {"NonAscii", NoOp("\\303\\244"), kBad, kIllegal, ""},
    {"Comma", NoOp("a,b"), kBad, kIllegal, "a,b"},
    {"At", NoOp("a@b"), kBad, kIllegal, "a@b"},
    {"Twice", NoOp("a") + NoOp("a"), kBad, "Node 'a' is not unique", "'a'"},
    {"TwiceOtherOp", NoOp("a") + Placeholder("a"), kBad, "Node 'a' is not unique", "'a'"},
    {"TwiceFarApart", NoOp("a") + NoOp("b") + NoOp("c") + NoOp("a"), kBad, "Node 'a' is not unique", "'a'"},
};

const MalformedGraph kOps[] = {
    {"Unknown", NodeText("a", "NoSuchOp"), kUnknown, "Op type not registered 'NoSuchOp'", "{{node a}}"},
    {"Empty", NodeText("a", ""), kUnknown, "Op type not registered ''", "{{node a}}"},
    {"WrongCase", NodeText("a", "noop"), kUnknown, "Op type not registered 'noop'", "{{node a}}"},
    {"WithSpace", NodeText("a", "NoOp "), kUnknown, "Op type not registered 'NoOp '", "{{node a}}"},
    {"Nul", NodeText("a", "NoOp\\000"), kUnknown, "Op type not registered", "{{node a}}"},
    {"SecondOfTwo", NoOp("a") + NodeText("b", "Nope"), kUnknown, "Op type not registered 'Nope'", "{{node b}}"},
    {"Arg", NodeText("a", "_Arg", Type("T") + Attr("index", "i: 0")), kBad, "Op '_Arg' cannot be used", "{{node a}}"},
    {"Retval", Placeholder("p") + NodeText("a", "_Retval", In("p") + Type("T") + Attr("index", "i: 0")), kBad,
     "Op '_Retval' cannot be used", "{{node a}}"},
    {"CopyToDevice", Placeholder("p") + NodeText("a", "_CopyToDevice", In("p") + Type("T")), kBad,
     "Op '_CopyToDevice' cannot be used", "{{node a}}"},
    {"CopyToHost", Placeholder("p") + NodeText("a", "_CopyToHost", In("p") + Type("T")), kBad,
     "Op '_CopyToHost' cannot be used", "{{node a}}"},
    {"Edge", NoOp("a", Attr("_edge", "i: 0")), kBad, "Attr '_edge' cannot be used", "{{node a}}"},
    {"InDeviceMemory", NoOp("a", Attr("_in_device_memory", "b: true")), kBad, "Attr '_in_device_memory' cannot be used",
     "{{node a}}"},
    {"CommitsStep", NoOp("a", Attr("_commits_step", "b: false")), kBad, "Attr '_commits_step' cannot be used",
     "{{node a}}"},
    {"PartialRun", NoOp("a", Attr("_partial_run", "s: ''")), kBad, "Attr '_partial_run' cannot be used", "{{node a}}"},
};

const MalformedGraph kVersions[] = {
    {"MinConsumer", "versions { producer: 1 min_consumer: 99999 }" + NoOp("a"), kBad,
     "GraphDef min consumer version 99999 above current version 2474", ""},
    {"MinConsumerByOne", "versions { min_consumer: 2475 }", kBad, "GraphDef min consumer version 2475 above", ""},
    {"MinConsumerMax", "versions { min_consumer: 2147483647 }", kBad, "GraphDef min consumer version", ""},
    {"BadConsumer", "versions { producer: 1 bad_consumers: 2474 }" + NoOp("a"), kBad,
     "GraphDef disallows consumer version 2474", ""},
    {"BadConsumerAmongOthers", "versions { bad_consumers: [1, 2474, 3] }", kBad,
     "GraphDef disallows consumer version 2474", ""},
    {"NegativeProducer", "versions { producer: -1 }" + NoOp("a"), kBad, "GraphDef producer version -1 below", ""},
};

const MalformedGraph kInputs[] = {
    {"Unknown", Neg("a", "zz"), kBad, "Node 'a': Unknown input node 'zz'", "{{node a}}"},
    {"UnknownWithPort", Neg("a", "zz:0"), kBad, "Node 'a': Unknown input node 'zz:0'", "{{node a}}"},
    {"UnknownControl", NoOp("a", In("^zz")), kBad, "Node 'a': Unknown input node '^zz'", "{{node a}}"},
    {"EmptyControl", NoOp("a", In("^")), kBad, "Node 'a': Unknown input node '^'", "{{node a}}"},
    {"DoubleCaret", NoOp("b") + NoOp("a", In("^^b")), kBad, "Node 'a': Unknown input node '^^b'", "{{node a}}"},
    {"ControlWithPort", NoOp("b") + NoOp("a", In("^b:0")), kBad, "Node 'a': Unknown input node '^b:0'", "{{node a}}"},
    {"Empty", Neg("a", ""), kBad, "Node 'a': Unknown input node ''", "{{node a}}"},
    {"OnlyColon", Neg("a", ":"), kBad, "Node 'a': Unknown input node ':'", "{{node a}}"},
    {"OnlyPort", Neg("a", ":0"), kBad, "Node 'a': Unknown input node ':0'", "{{node a}}"},
    {"NoPortAfterColon", Placeholder("p") + Neg("a", "p:"), kBad, "Node 'a': Unknown input node 'p:'", "{{node a}}"},
    {"NegativePort", Placeholder("p") + Neg("a", "p:-1"), kBad, "Node 'a': Unknown input node 'p:-1'", "{{node a}}"},
    {"PlusPort", Placeholder("p") + Neg("a", "p:+0"), kBad, "Node 'a': Unknown input node 'p:+0'", "{{node a}}"},
    {"SpacePort", Placeholder("p") + Neg("a", "p: 0"), kBad, "Node 'a': Unknown input node 'p: 0'", "{{node a}}"},
    {"WordPort", Placeholder("p") + Neg("a", "p:output"), kBad, "Node 'a': Unknown input node 'p:output'",
     "{{node a}}"},
    {"FunctionNotation", Placeholder("p") + Neg("a", "p:output:0"), kBad, "Node 'a': Unknown input node", "{{node a}}"},
    {"HexPort", Placeholder("p") + Neg("a", "p:0x0"), kBad, "Node 'a': Unknown input node", "{{node a}}"},
    {"PortPastInt", Placeholder("p") + Neg("a", "p:2147483648"), kBad, "Node 'a': Unknown input node", "{{node a}}"},
    {"PortPastInt64", Placeholder("p") + Neg("a", "p:99999999999999999999"), kBad, "Node 'a': Unknown input node",
     "{{node a}}"},
    {"PortOutOfRange", Placeholder("p") + Neg("a", "p:7"), kBad,
     "Node 'a': Connecting to invalid output 7 of source node p which has 1 outputs", "{{node a}}"},
    {"PortOneOff", Placeholder("p") + Neg("a", "p:1"), kBad, "Node 'a': Connecting to invalid output 1", "{{node a}}"},
    {"PortMaxInt", Placeholder("p") + Neg("a", "p:2147483647"), kBad, "Node 'a': Connecting to invalid output",
     "{{node a}}"},
    {"FromNodeWithoutOutputs", NoOp("n") + Neg("a", "n"), kBad,
     "Node 'a': Connecting to invalid output 0 of source node n which has 0 outputs", "{{node a}}"},
    {"DataAfterControl", NoOp("n") + Placeholder("p") + NodeText("a", "Neg", In("^n") + In("p") + Type("T")), kBad,
     "Node 'a': Control dependencies must come after regular dependencies", "{{node a}}"},
    {"DataBetweenControl",
     NoOp("n") + Placeholder("p") + NodeText("a", "Neg", In("^n") + In("p") + In("^n") + Type("T")), kBad,
     "Node 'a': Control dependencies must come after", "{{node a}}"},
    {"SpaceBefore", Placeholder("p") + Neg("a", " p"), kBad, "Node 'a': Unknown input node ' p'", "{{node a}}"},
    {"OtherCase", Placeholder("p") + Neg("a", "P"), kBad, "Node 'a': Unknown input node 'P'", "{{node a}}"},
};

const MalformedGraph kArities[] = {
    {"NoInput", NodeText("a", "Neg", Type("T")), kBad, kArity, "{{node a}}"},
    {"TwoForOne", Placeholder("p") + NodeText("a", "Neg", In("p") + In("p") + Type("T")), kBad, kArity, "{{node a}}"},
    {"OneForTwo", Placeholder("p") + NodeText("a", "AddV2", In("p") + Type("T")), kBad, kArity, "{{node a}}"},
    {"ControlDoesNotCount", Placeholder("p") + NodeText("a", "AddV2", In("p") + In("^p") + Type("T")), kBad, kArity,
     "{{node a}}"},
    {"DataIntoNoOp", Placeholder("p") + NoOp("a", In("p")), kBad, kArity, "{{node a}}"},
    {"DataIntoPlaceholder", Placeholder("p") + NodeText("a", "Placeholder", In("p") + Type("dtype")), kBad, kArity,
     "{{node a}}"},
    {"FewerThanN", Placeholder("p") + NodeText("a", "AddN", In("p") + Type("T") + Attr("N", "i: 2")), kBad, kArity,
     "{{node a}}"},
    {"MoreThanN", Placeholder("p") + NodeText("a", "AddN", In("p") + In("p") + Type("T") + Attr("N", "i: 1")), kBad,
     kArity, "{{node a}}"},
    {"ManyTimesN", Placeholder("p") + NodeText("a", "AddN", In("p") + Type("T") + Attr("N", "i: 1000000")), kBad,
     kArity, "{{node a}}"},
    {"NAboveEverything", Placeholder("p") + NodeText("a", "AddN", In("p") + Type("T") + Attr("N", "i: 1000000000000")),
     kBad, "Attr 'N'", "{{node a}}"},
    {"FewerThanList",
     Placeholder("p") + NodeText("a", "IdentityN", In("p") + Attr("T", "list { type: [DT_FLOAT, DT_FLOAT] }")), kBad,
     kArity, "{{node a}}"},
    {"MoreThanList",
     Placeholder("p") + NodeText("a", "IdentityN", In("p") + In("p") + Attr("T", "list { type: DT_FLOAT }")), kBad,
     kArity, "{{node a}}"},
};

std::string Variable(const std::string& type) {
  return NodeText("v", "VariableV2", Type("dtype", type) + Attr("shape", "shape {}"));
}

const MalformedGraph kTypes[] = {
    {"FloatForInt", Placeholder("p") + NodeText("b", "Neg", In("p") + Type("T", "DT_INT32")), kBad,
     "Input 0 of node b was passed float from p:0 incompatible with expected int32.", "{{node b}}"},
    {"SecondInput",
     Placeholder("p") + Placeholder("q", "DT_HALF") + NodeText("b", "AddV2", In("p") + In("q") + Type("T")), kBad,
     "Input 1 of node b was passed half from q:0 incompatible with expected float.", "{{node b}}"},
    {"InList",
     Placeholder("p") +
         NodeText("b", "IdentityN", In("p") + In("p") + Attr("T", "list { type: [DT_FLOAT, DT_STRING] }")),
     kBad, "Input 1 of node b was passed float from p:0 incompatible with expected string.", "{{node b}}"},
    {"FixedType", Placeholder("p") + NodeText("b", "Switch", In("p") + In("p") + Type("T")), kBad,
     "Input 1 of node b was passed float from p:0 incompatible with expected bool.", "{{node b}}"},
    {"ValueForRef", Placeholder("p") + NodeText("b", "Assign", In("p") + In("p") + Type("T")), kBad,
     "Input 0 of node b was passed float from p:0 incompatible with expected float_ref.", "{{node b}}"},
    {"RefOfOtherType", Variable("DT_INT32") + Placeholder("p") + NodeText("b", "Assign", In("v") + In("p") + Type("T")),
     kBad, "Input 0 of node b was passed int32_ref from v:0 incompatible with expected float_ref.", "{{node b}}"},
    {"RefReadAsOtherType", Variable("DT_INT32") + NodeText("b", "Neg", In("v") + Type("T")), kBad,
     "Input 0 of node b was passed int32_ref from v:0 incompatible with expected float.", "{{node b}}"},
    {"SecondOutput", Placeholder("p") + Merge("m", "p", "p") + Neg("b", "m:1"), kBad,
     "Input 0 of node b was passed int32 from m:1 incompatible with expected float.", "{{node b}}"},
};

const MalformedGraph kCycles[] = {
    {"SelfData", Neg("a", "a"), kBad, "1 nodes in a cycle", "{{node a}}"},
    {"SelfControl", NoOp("a", In("^a")), kBad, "1 nodes in a cycle", "{{node a}}"},
    {"Two", Neg("a", "b") + Neg("b", "a"), kBad, "2 nodes in a cycle", "{{node a}}"},
    {"TwoByControl", NoOp("a", In("^b")) + NoOp("b", In("^a")), kBad, "2 nodes in a cycle", "{{node a}}"},
    {"Mixed", NodeText("a", "Neg", In("p") + In("^b") + Type("T")) + Placeholder("p") + Neg("b", "a"), kBad,
     "2 nodes in a cycle", "{{node a}}"},
    {"Three", Neg("a", "b") + Neg("b", "c") + Neg("c", "a"), kBad, "3 nodes in a cycle", "{{node a}}"},
    {"MergeOfItself", Merge("a", "a", "a"), kBad, "1 nodes in a cycle", "{{node a}}"},
    {"MergeWithoutNextIteration", Placeholder("p") + Merge("m", "p", "n") + Neg("n", "m"), kBad, "2 nodes in a cycle",
     "{{node m}}"},
    {"NextIterationIntoOther", Neg("a", "n") + Next("n", "a"), kBad, "2 nodes in a cycle", "{{node a}}"},
    {"NextIterationByControl", NodeText("a", "Neg", In("p") + In("^n") + Type("T")) + Placeholder("p") + Next("n", "a"),
     kBad, "2 nodes in a cycle", "{{node a}}"},
    {"MergeControlFromNextIteration",
     Placeholder("p") + NodeText("m", "Merge", In("p") + In("p") + In("^n") + Type("T") + Attr("N", "i: 2")) +
         Next("n", "m"),
     kBad, "2 nodes in a cycle", "{{node m}}"},
    {"BesideAGoodLoop", Placeholder("p") + Merge("m", "p", "n") + Next("n", "m") + Neg("x", "x"), kBad,
     "1 nodes in a cycle", "{{node x}}"},
};

class ImportMalformedTest : public ::testing::TestWithParam<MalformedGraph> {};
TEST_P(ImportMalformedTest, IsRefused) { ExpectRefused(GetParam()); }

#define MILLSTREAM_TABLE(table)                                                       \
  INSTANTIATE_TEST_SUITE_P(table, ImportMalformedTest, ::testing::ValuesIn(k##table), \
                           [](const auto& info) { return NameOf(info.param); })
MILLSTREAM_TABLE(Names);
MILLSTREAM_TABLE(Ops);
MILLSTREAM_TABLE(Versions);
MILLSTREAM_TABLE(Inputs);
MILLSTREAM_TABLE(Arities);
MILLSTREAM_TABLE(Types);
MILLSTREAM_TABLE(Cycles);

}  // namespace
}  // namespace millstream
