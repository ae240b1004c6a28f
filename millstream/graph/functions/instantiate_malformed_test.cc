// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/testing/malformed.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

// Function bodies that are refused when they are instantiated (with T bound to float, N to 2). All take x: float.
struct MalformedBody {
  const char* name;
  std::string body;
  absl::StatusCode code;
  const char* says;
};

std::string Body(const std::string& name, const std::string& op, const std::string& rest = "") {
  return " node_def { name: '" + name + "' op: '" + op + "'" + rest + " }";
}
std::string NegOf(const std::string& name, const std::string& input) {
  return Body(name, "Neg", In(input) + Type("T"));
}
std::string Ret(const std::string& from) { return " ret { key: 'y' value: '" + from + "' }"; }
const char kSignature[] = "signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } ";
const char kOneRet[] = "output_arg { name: 'y' type: DT_FLOAT } } ";
std::string OneRet(const std::string& body) { return std::string(kSignature) + kOneRet + body; }
std::string NoRet(const std::string& body) { return std::string(kSignature) + "} " + body; }

const MalformedBody kBodies[] = {
    {"ReturnMissing", OneRet(""), kBad, "Return y missing."},
    {"ReturnUnknownNode", OneRet(Ret("zz:y:0")), kBad, "Return y -> zz:y:0 is not found."},
    {"ReturnUnknownArg", OneRet(Ret("zz")), kBad, "Return y -> zz is not found."},
    {"ReturnEmpty", OneRet(Ret("")), kBad, "Return y ->  is not found."},
    {"ReturnNodeWithoutOutput", OneRet(NegOf("n", "x") + Ret("n")), kBad, "Return y -> n is not found."},
    {"ReturnUnknownOutput", OneRet(NegOf("n", "x") + Ret("n:z:0")), kBad, "Return y -> n:z:0 is not found."},
    {"ReturnIndexOutOfRange", OneRet(NegOf("n", "x") + Ret("n:y:1")), kBad, "Return y -> n:y:1 is not found."},
    {"ReturnNegativeIndex", OneRet(NegOf("n", "x") + Ret("n:y:-1")), kBad, "Return y -> n:y:-1 is not found."},
    {"ReturnFourParts", OneRet(NegOf("n", "x") + Ret("n:y:0:0")), kBad, "Return y -> n:y:0:0 is not found."},
    {"ReturnTrailingColon", OneRet(NegOf("n", "x") + Ret("n:y:")), kBad, "Return y -> n:y: is not found."},
    {"ReturnArgIndexOutOfRange", OneRet(Ret("x:1")), kBad, "Return y -> x:1 is not found."},
    {"ReturnArgWithOutput", OneRet(Ret("x:output:0")), kBad, "Return y -> x:output:0 is not found."},
    {"ReturnWrongType", OneRet(Body("s", "Merge", In("x") + Type("T") + Attr("N", "i: 1")) + Ret("s:value_index:0")),
     kBad, "Input 0 of node y_RetVal was passed int32"},
    {"ReturnWrongCount",
     "signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT number_attr: "
     "'N' } "
     "attr { name: 'N' type: 'int' } }" +
         Ret("x"),
     kBad, "Return y has 1 values, 2 were expected"},
    {"ControlReturnMissing", std::string(kSignature) + "control_output: 'c' }", kBad,
     "Control output 'c' is not found."},
    {"ControlReturnUnknownNode", std::string(kSignature) + "control_output: 'c' } control_ret { key: 'c' value: 'zz' }",
     kBad, "Control output 'c' is not found."},
    {"UnknownOp", NoRet(Body("n", "NoSuchOp")), kUnknown, "Op type not registered 'NoSuchOp'"},
    {"UnknownInput", NoRet(NegOf("n", "zz")), kBad, "Node 'n': Unknown input node 'zz'"},
    {"GraphNotation", NoRet(NegOf("m", "x") + NegOf("n", "m:0")), kBad, "Node 'n': Unknown input node 'm:0'"},
    {"BareNode", NoRet(NegOf("m", "x") + NegOf("n", "m")), kBad, "Node 'n': Unknown input node 'm'"},
    {"UnknownControl", NoRet(Body("n", "NoOp", In("^zz"))), kBad, "Node 'n': Unknown input node '^zz'"},
    {"DataAfterControl", NoRet(Body("m", "NoOp") + Body("n", "Neg", In("^m") + In("x") + Type("T"))), kBad,
     "Node 'n': Control dependencies"},
    {"Cycle", NoRet(NegOf("m", "n:y:0") + NegOf("n", "m:y:0")), kBad, "2 nodes in a cycle"},
    {"SelfCycle", NoRet(NegOf("n", "n:y:0")), kBad, "1 nodes in a cycle"},
    {"NodeNamedAsArg", NoRet(Body("x", "NoOp")), kBad, "Node 'x' is not unique"},
    {"NodeTwice", NoRet(Body("n", "NoOp") + Body("n", "NoOp")), kBad, "Node 'n' is not unique"},
    {"IllegalNodeName", NoRet(Body("a b", "NoOp")), kBad, "Illegal op name"},
    {"IllegalArgName", "signature { name: 'f' input_arg { name: 'a b' type: DT_FLOAT } }", kBad, "Illegal op name"},
    {"ArgTwice",
     "signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } input_arg { name: 'x' type: DT_FLOAT } }", kBad,
     "argument 'x' is not unique"},
    {"Unbound", NoRet(Body("n", "Neg", In("x") + Attr("T", "placeholder: 'U'"))), kBad,
     "Failed to bind 'U' in placeholder"},
    {"BoundToOtherKind", NoRet(Body("n", "Neg", In("x") + Attr("T", "placeholder: 'N'"))), kBad,
     "AttrValue had value with type 'int'"},
    {"MissingAttr", NoRet(Body("n", "Neg", In("x"))), kBad, "NodeDef missing attr 'T'"},
    {"BadTensor",
     NoRet(Body("n", "Const", Type("dtype") + Attr("value", "tensor { dtype: DT_FLOAT float_val: [1, 2] }"))), kBad,
     "Cannot parse tensor from proto"},
    {"TypeMismatch", NoRet(Body("n", "Neg", In("x") + Type("T", "DT_INT32"))), kBad,
     "Input 0 of node n was passed float"},
    {"ExplicitArg", NoRet(Body("n", "_Arg", Type("T") + Attr("index", "i: 0"))), kBad, "Op '_Arg' cannot be used"},
    {"ExplicitRetval", NoRet(Body("n", "_Retval", In("x") + Type("T") + Attr("index", "i: 0"))), kBad,
     "Op '_Retval' cannot be used"},
    {"RequiredAttrNotBound", "signature { name: 'f' attr { name: 'S' type: 'string' } }", kBad,
     "NodeDef missing attr 'S'"},
    {"AttrOfOtherKind", "signature { name: 'f' attr { name: 'T' type: 'int' } }", kBad,
     "AttrValue had value with type 'type'"},
    {"ArgTypeNotBound", "signature { name: 'f' input_arg { name: 'x' type_attr: 'S' } }", kUnknown,
     "No attr named 'S'"},
    {"ArgTypeOfOtherKind", "signature { name: 'f' input_arg { name: 'x' type_attr: 'N' } }", kBad,
     "Attr 'N' has value 2"},
    {"ArgCountOfOtherKind", "signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT number_attr: 'T' } }", kBad,
     "Attr 'T' has value"},
    {"ArgCountHuge",
     "signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT number_attr: 'M' } attr { name: 'M' type: 'int' "
     "default_value { i: 1000000 } } }",
     kTooBig, "more than 65536 arguments"},
    {"ArgListOfOtherKind", "signature { name: 'f' input_arg { name: 'x' type_list_attr: 'T' } }", kBad,
     "Attr 'T' must be a list"},
    {"BadArgAttr",
     NoRet("arg_attr { key: 0 value { attr { key: '_output_shapes' value { shape { dim { size: -9 } } } } } }"), kBad,
     "Dimension -9"},
};

class InstantiateMalformedTest : public ::testing::TestWithParam<MalformedBody> {};

TEST_P(InstantiateMalformedTest, IsRefused) {
  proto::FunctionDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().body, &def)) << GetParam().body;
  auto library = std::make_shared<FunctionLibrary>();
  ASSERT_TRUE(library->Add(def).ok());
  const Status status = library->Instantiate({"f", {{"T", DType::kFloat}, {"N", 2}}}).status();
  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(std::string("Function 'f': ") + GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Bodies, InstantiateMalformedTest, ::testing::ValuesIn(kBodies),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace millstream
