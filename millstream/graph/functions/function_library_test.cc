// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/functions/function_library.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "millstream/graph/import/import.h"
#include "millstream/graph/testing/malformed.h"
#include "millstream/proto/function.pb.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

constexpr char kAxpy[] = R"(
  function {
    signature { name: "axpy" input_arg { name: "a" type_attr: "T" }
                input_arg { name: "xs" type_attr: "T" number_attr: "N" }
                output_arg { name: "z" type_attr: "T" } output_arg { name: "last" type_attr: "T" }
                control_output: "done"
                attr { name: "T" type: "type" } attr { name: "N" type: "int" default_value { i: 2 } } }
    node_def { name: "sum" op: "AddN" input: "xs" attr { key: "T" value { placeholder: "T" } }
               attr { key: "N" value { placeholder: "N" } } }
    node_def { name: "z_" op: "AddV2" input: "a" input: "sum:sum:0" input: "^quiet"
               attr { key: "T" value { placeholder: "T" } } }
    node_def { name: "quiet" op: "NoOp" input: "^a" }
    ret { key: "z" value: "z_:z:0" } ret { key: "last" value: "xs:1" } control_ret { key: "done" value: "quiet" }
    arg_attr { key: 0 value { attr { key: "_output_shapes" value { list { shape { dim { size: 3 } } } } } } }
  })";

class FunctionLibraryTest : public ::testing::Test {
 protected:
  Status Add(const std::string& text) {
    proto::FunctionDefLibrary def;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def)) << text;
    return library_->AddLibrary(def);
  }
  std::shared_ptr<FunctionLibrary> library_ = std::make_shared<FunctionLibrary>();
};

TEST_F(FunctionLibraryTest, InstantiatesABody) {
  ASSERT_TRUE(Add(kAxpy).ok());
  StatusOr<FunctionBody> body = library_->Instantiate({"axpy", {{"T", DType::kFloat}}});
  ASSERT_TRUE(body.ok()) << body.status();
  const Graph& graph = *body->graph;
  EXPECT_EQ(body->arg_types, (std::vector<DType>(3, DType::kFloat)));
  EXPECT_EQ(body->ret_types, (std::vector<DType>(2, DType::kFloat)));
  ASSERT_EQ(body->args.size(), 3u);
  EXPECT_TRUE(body->args[0]->Is("_Arg"));
  EXPECT_EQ(body->args[0], graph.Find("a"));
  EXPECT_TRUE(body->args[0]->attrs().Has("_output_shapes"));
  int64_t index = 0;
  ASSERT_TRUE(body->args[2]->GetAttr("index", &index).ok());
  EXPECT_EQ(index, 2);
  EXPECT_EQ(graph.Find("sum")->inputs(), (std::vector<Output>{body->args[1], body->args[2]}));
  EXPECT_EQ(graph.Find("z_")->input(1), Output(graph.Find("sum"), 0));
  ASSERT_EQ(body->rets.size(), 2u);
  EXPECT_EQ(body->rets[0]->input(0), Output(graph.Find("z_"), 0));
  EXPECT_EQ(body->rets[1]->input(0), Output(body->args[2], 0));
  EXPECT_EQ(body->control_rets, std::vector<Node*>{graph.Find("quiet")});
  EXPECT_EQ(graph.library(), library_);
}

TEST_F(FunctionLibraryTest, AttributesChooseTypesAndCounts) {
  ASSERT_TRUE(Add(kAxpy).ok());
  StatusOr<FunctionBody> body = library_->Instantiate({"axpy", {{"T", DType::kDouble}, {"N", 3}}});
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->arg_types, (std::vector<DType>(4, DType::kDouble)));
  EXPECT_EQ(body->graph->Find("sum")->num_inputs(), 3);
}

TEST_F(FunctionLibraryTest, SameFunctionMayBeAddedAgain) {
  ASSERT_TRUE(Add(kAxpy).ok());
  EXPECT_TRUE(Add(kAxpy).ok());
  EXPECT_EQ(library_->Names(), std::vector<std::string>{"axpy"});
  const Status s = Add("function { signature { name: 'axpy' } }");
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(s.ToString(), ::testing::HasSubstr("a different function with the same name already exists"));
}

TEST_F(FunctionLibraryTest, AddsAllOrNothing) {
  EXPECT_FALSE(Add("function { signature { name: 'f' } } function { signature { name: 'NoOp' } }").ok());
  EXPECT_TRUE(library_->Names().empty());
}

TEST_F(FunctionLibraryTest, KeepsGradients) {
  ASSERT_TRUE(Add("gradient { function_name: 'f' gradient_func: 'g' }").ok());
  EXPECT_EQ(library_->GradientOf("f"), "g");
  EXPECT_EQ(library_->GradientOf("x"), "");
  EXPECT_FALSE(Add("gradient { function_name: 'f' gradient_func: 'h' }").ok());
  proto::FunctionDefLibrary out;
  library_->ToProto(&out);
  EXPECT_EQ(out.gradient(0).gradient_func(), "g");
}

TEST_F(FunctionLibraryTest, NodesMayCallFunctionsByName) {
  ASSERT_TRUE(Add(std::string(kAxpy) + R"(
    function { signature { name: "outer" is_stateful: true input_arg { name: "x" type: DT_FLOAT }
                           output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "call" op: "axpy" input: "x" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } }
                 attr { key: "_mark" value { i: 1 } } }
      ret { key: "y" value: "call:last:0" } })")
                  .ok());
  StatusOr<FunctionBody> body = library_->Instantiate({"outer", {}});
  ASSERT_TRUE(body.ok()) << body.status();
  const Node* call = body->graph->Find("call");
  EXPECT_TRUE(call->Is("PartitionedCall"));
  NameAttrList f;
  ASSERT_TRUE(call->GetAttr("f", &f).ok());
  EXPECT_EQ(f.name, "axpy");
  EXPECT_EQ(f.attrs.size(), 2u);
  EXPECT_TRUE(call->attrs().Has("_mark"));
  EXPECT_EQ(body->rets[0]->input(0).index, 1);

  proto::GraphDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      Placeholder("p") + NodeText("o", "outer", In("p")) + Neg("n", "o"), &def));
  Graph graph(library_);
  ASSERT_TRUE(ImportGraph(def, {}, &graph).ok());
  EXPECT_TRUE(graph.Find("o")->Is("StatefulPartitionedCall"));
}

TEST_F(FunctionLibraryTest, UnknownFunctionIsNotFound) {
  EXPECT_EQ(library_->Instantiate({"f", {}}).status().code(), absl::StatusCode::kNotFound);
}

// Libraries that are refused when they are added.
const MalformedGraph kLibraries[] = {
    {"NoName", "library { function { signature {} } }", kBad, "Cannot add a function without a name", ""},
    {"NameOfAnOp", "library { function { signature { name: 'NoOp' } } }", kBad,
     "Cannot add function 'NoOp' because an op with the same name already exists.", "NoOp"},
    {"TwoBodies",
     "library { function { signature { name: 'f' } } function { signature { name: 'f' is_stateful: true } } }", kBad,
     "Cannot add function 'f' because a different function with the same name already exists.", "'f'"},
    {"ArgWithoutName", "library { function { signature { name: 'f' input_arg { type: DT_FLOAT } } } }", kBad,
     "Function 'f'", "'f'"},
    {"ArgWithoutType", "library { function { signature { name: 'f' input_arg { name: 'x' } } } }", kBad, "Function 'f'",
     "'x'"},
    {"ArgWithTwoTypes",
     "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT type_attr: 'T' } } } }", kBad,
     "Function 'f'", "'x'"},
    {"ArgOfUnknownType", "library { function { signature { name: 'f' input_arg { name: 'x' type: 99 } } } }", kBad,
     "Function 'f'", "'x'"},
    {"RetOfUnknownType", "library { function { signature { name: 'f' output_arg { name: 'x' type: 99 } } } }", kBad,
     "Function 'f'", "'x'"},
    {"NumberAndList",
     "library { function { signature { name: 'f' input_arg { name: 'x' number_attr: 'N' type_list_attr: 'T' } } } }",
     kBad, "Function 'f'", "'x'"},
    {"BadDefault",
     "library { function { signature { name: 'f' attr { name: 'T' type: 'type' default_value { type: 99 } } } } }",
     kBad, "Function 'f'", "99"},
    {"TwoGradients",
     "library { gradient { function_name: 'f' gradient_func: 'g' } gradient { function_name: 'f' gradient_func: 'h' } "
     "}",
     kBad, "Cannot assign gradient function 'h' to 'f'", "'g'"},
    {"CallMissingAttr",
     "library { function { signature { name: 'f' attr { name: 'T' type: 'type' } } } }" + NodeText("a", "f"), kBad,
     "NodeDef missing attr 'T'", "{{node a}}"},
    {"CallWrongKind",
     "library { function { signature { name: 'f' attr { name: 'T' type: 'type' } } } }" +
         NodeText("a", "f", Attr("T", "i: 1")),
     kBad, "AttrValue had value with type 'int'", "{{node a}}"},
    {"CallWrongArity",
     "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } } } }" + NodeText("a", "f"),
     kBad, "NodeDef expected inputs 'float'", "{{node a}}"},
    {"CallWrongType",
     "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_INT32 } } } }" + Placeholder("p") +
         NodeText("a", "f", In("p")),
     kBad, "Input 0 of node a was passed float", "{{node a}}"},
    {"CallCountMissing",
     "library { function { signature { name: 'f' output_arg { name: 'x' type: DT_INT32 number_attr: 'N' } } } }" +
         NodeText("a", "f"),
     kUnknown, "No attr named 'N'", "{{node a}}"},
    {"CallCountHuge",
     "library { function { signature { name: 'f' output_arg { name: 'x' type: DT_INT32 number_attr: 'N' } } } }" +
         NodeText("a", "f", Attr("N", "i: 99999999999")),
     kBad, "Attr 'N'", "{{node a}}"},
};

class FunctionMalformedTest : public ::testing::TestWithParam<MalformedGraph> {};
TEST_P(FunctionMalformedTest, IsRefused) { ExpectRefused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Libraries, FunctionMalformedTest, ::testing::ValuesIn(kLibraries),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace millstream
