// SPDX-License-Identifier: Apache-2.0
// Programs whose nodes give what they did not declare, and programs with nodes that only the runtime makes.
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;

std::string Attr(const std::string& key, const std::string& value) {
  return absl::StrCat("attr { key: '", key, "' value { ", value, " } } ");
}
std::string Types(const std::string& key, const std::string& type) {
  return Attr(key, absl::StrCat("list { type: ", type, " }"));
}
std::string Node(const std::string& text) { return absl::StrCat("node { ", text, " } "); }

const char kFloat[] =
    "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
    "dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } } ";
const char kZero[] =
    "node { name: 'i' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
    "dtype: DT_INT32 tensor_shape {} int_val: 0 } } } } ";
const char kOne[] =
    "node { name: 'j' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
    "dtype: DT_INT32 tensor_shape {} int_val: 1 } } } } ";

// A function of one float that gives a float, called `name`.
std::string Negates(const std::string& name) {
  return absl::StrCat(
      "library { ",
      FunctionInText(name, "node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }",
                     "n:y:0"),
      " } ");
}
// Reads "call", a string, to its end.
const char kReader[] = "node { name: 'y' op: 'StringLength' input: 'call:0' } ";

class HostileTypesTest : public ::testing::TestWithParam<bool> {  // with and without rewrites
 protected:
  static SessionOptions Options() {
    SessionOptions options;
    if (!GetParam()) options.rewrite = RewriteOptions::None();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Rewrites, HostileTypesTest, ::testing::Bool());

// Functions give a float where their caller promises a string.
TEST_P(HostileTypesTest, ResultsOfFunctions) {
  const std::string in_out = Types("Tin", "DT_FLOAT") + Types("Tout", "DT_STRING");
  const std::string f = "func { name: 'f' }";
  const std::string calls[] = {
      NodeInText("call", "PartitionedCall", {"c"}, in_out + Attr("f", f)),
      NodeInText("call", "StatefulPartitionedCall", {"c"}, in_out + Attr("f", f)),
      NodeInText("call", "StatelessIf", {"c", "c"},
                 in_out + Attr("Tcond", "type: DT_FLOAT") + Attr("then_branch", f) + Attr("else_branch", f)),
      NodeInText("call", "StatelessCase", {"i", "c"},
                 in_out + Attr("branches", absl::StrCat("list { ", f, " ", f, " }"))),
      NodeInText("call", "RemoteCall", {"device", "c"}, in_out + Attr("f", f)),
      NodeInText("call", "SymbolicGradient", {"c", "c"},
                 Attr("Tin", "list { type: DT_FLOAT type: DT_FLOAT }") + Types("Tout", "DT_STRING") + Attr("f", f)),
      NodeInText("call", "BatchFunction", {"row"},
                 Types("Tin", "DT_FLOAT") + Attr("Tcaptured", "list {}") + Types("Tout", "DT_STRING") + Attr("f", f) +
                     Attr("num_batch_threads", "i: 1") + Attr("max_batch_size", "i: 1") +
                     Attr("batch_timeout_micros", "i: 0")),
  };
  const std::string others =
      absl::StrCat(kFloat, kZero,
                   Node(absl::StrCat("name: 'device' op: 'Const' ", Attr("dtype", "type: DT_STRING"),
                                     Attr("value", "tensor { dtype: DT_STRING tensor_shape {} string_val: '' }"))),
                   Node(absl::StrCat("name: 'row' op: 'Const' ", Attr("dtype", "type: DT_FLOAT"),
                                     Attr("value",
                                          "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } "
                                          "float_val: 1 }"))));
  for (const std::string& call : calls) {
    ExpectSurvives({kInvalidArgument},
                   [&] { return RunText(absl::StrCat(Negates("f"), others, Node(call), kReader), "y:0", Options()); });
  }
}

// A loop whose body gives a string for the float that it was given, and runs once.
TEST_P(HostileTypesTest, ResultsOfLoops) {
  const std::string f =
      "library { function { signature { name: 'f' input_arg { name: 'i' type: DT_INT32 } input_arg { name: 'x' type: "
      "DT_STRING } output_arg { name: 'y' type: DT_INT32 } } ret { key: 'y' value: 'i' } } } ";
  const std::string call = Node(
      NodeInText("call", "For", {"i", "j", "j", "text"}, Types("T", "DT_STRING") + Attr("body", "func { name: 'f' }")));
  const std::string text =
      Node(absl::StrCat("name: 'text' op: 'Const' ", Attr("dtype", "type: DT_STRING"),
                        Attr("value", "tensor { dtype: DT_STRING tensor_shape {} string_val: 'a' }")));
  ExpectSurvives({kInvalidArgument},
                 [&] { return RunText(absl::StrCat(f, kZero, kOne, text, call, kReader), "y:0", Options()); });
}

// Partial runs meet their callers at nodes with numbers; a program may not bring its own.
TEST_P(HostileTypesTest, NodesOfPartialRuns) {
  for (const char* index : {"0", "1", "1000000", "9223372036854775807"}) {
    for (const bool fetch : {true, false}) {
      ExpectSurvives({kInvalidArgument}, [&] {
        const std::string attrs = Attr("T", "type: DT_FLOAT") + Attr("index", absl::StrCat("i: ", index));
        const std::string program =
            absl::StrCat(kFloat,
                         Node(fetch ? NodeInText("bad", "_PartialFetch", {"p"}, attrs)
                                    : NodeInText("bad", "_PartialFeed", {}, attrs)),
                         Node(absl::StrCat("name: 'p' op: 'Placeholder' ", Attr("dtype", "type: DT_FLOAT"))),
                         Node("name: 'both' op: 'NoOp' input: '^p' input: '^bad'"));
        proto::GraphDef def;
        if (!google::protobuf::TextFormat::ParseFromString(program, &def)) return errors::Internal("not a program");
        ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(Options()));
        RETURN_IF_ERROR(session->Create(def));
        ASSIGN_OR_RETURN(const std::string handle, session->PartialRunSetup({"p:0"}, {"c:0"}, {"both"}));
        std::vector<Tensor> out;
        return session->PartialRun(handle, {{"p:0", Tensor::Scalar(1.f)}}, {"c:0"}, &out);
      });
    }
  }
}

// What passes and the partitioner tell the executors.
TEST_P(HostileTypesTest, ReservedAttributes) {
  for (const char* name : {"_edge", "_in_device_memory", "_commits_step"}) {
    for (const char* value : {"i: 0", "b: true"}) {
      ExpectSurvives({kInvalidArgument}, [&] {
        return RunText(
            absl::StrCat(kFloat, Node(NodeInText("y", "Neg", {"c"}, Attr("T", "type: DT_FLOAT") + Attr(name, value)))),
            "y:0", Options());
      });
    }
  }
  for (const char* op : {"_CopyToDevice", "_CopyToHost"}) {
    ExpectSurvives({kInvalidArgument}, [&] {
      return RunText(absl::StrCat(kFloat, Node(NodeInText("y", op, {"c"}, Attr("T", "type: DT_FLOAT")))), "y:0",
                     Options());
    });
  }
}

}  // namespace
}  // namespace millstream
