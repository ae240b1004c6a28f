// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/graph/testing/malformed.h"

namespace millstream {
namespace {

constexpr char kNode[] = "{{node a}}";

std::string OnPlaceholder(const std::string& attrs) { return NodeText("a", "Placeholder", attrs); }
std::string Dtype(const std::string& value) { return OnPlaceholder(Attr("dtype", value)); }
std::string Shape(const std::string& value) { return OnPlaceholder(Type("dtype") + Attr("shape", value)); }
std::string Conv(const std::string& attrs) {
  return Placeholder("p") + NodeText("a", "Conv2D", In("p") + In("p") + Type("T") + attrs);
}
std::string Const(const std::string& tensor, const std::string& type = "DT_FLOAT") {
  return NodeText("a", "Const", Type("dtype", type) + Attr("value", "tensor { " + tensor + " }"));
}
std::string Dims(const std::string& size) { return " tensor_shape { dim { size: " + size + " } } "; }

const MalformedGraph kMissing[] = {
    {"Dtype", OnPlaceholder(""), kBad, "NodeDef missing attr 'dtype' from Op<name=Placeholder", kNode},
    {"DtypeBesideOther", OnPlaceholder(Attr("shape", "shape {}")), kBad, "NodeDef missing attr 'dtype'", kNode},
    {"T", Placeholder("p") + NodeText("a", "Neg", In("p")), kBad, "NodeDef missing attr 'T' from Op<name=Neg", kNode},
    {"N", Placeholder("p") + NodeText("a", "AddN", In("p") + Type("T")), kBad, "NodeDef missing attr 'N'", kNode},
    {"TypeList", Placeholder("p") + NodeText("a", "IdentityN", In("p")), kBad, "NodeDef missing attr 'T'", kNode},
    {"ConstDtype", NodeText("a", "Const", Attr("value", "tensor { dtype: DT_FLOAT }")), kBad,
     "NodeDef missing attr 'dtype'", kNode},
    {"ConstValue", NodeText("a", "Const", Type("dtype")), kBad, "NodeDef missing attr 'value'", kNode},
    {"Strides", Conv(Attr("padding", "s: 'SAME'")), kBad, "NodeDef missing attr 'strides'", kNode},
    {"Padding", Conv(Attr("strides", "list { i: [1, 1, 1, 1] }")), kBad, "NodeDef missing attr 'padding'", kNode},
    {"VariableShape", NodeText("a", "VariableV2", Type("dtype")), kBad, "NodeDef missing attr 'shape'", kNode},
    {"NumSplit", Placeholder("p") + NodeText("a", "Split", In("p") + In("p") + Type("T")), kBad,
     "NodeDef missing attr 'num_split'", kNode},
    {"F", NodeText("a", "PartitionedCall", Attr("Tin", "list {}") + Attr("Tout", "list {}")), kBad,
     "NodeDef missing attr 'f'", kNode},
};

constexpr char kKind[] = "AttrValue had value with type";

const MalformedGraph kKinds[] = {
    {"Unset", Dtype(""), kBad, "AttrValue missing value with expected type 'type' for attr 'dtype'", kNode},
    {"IntForType", Dtype("i: 1"), kBad, "AttrValue had value with type 'int' when 'type' expected", kNode},
    {"FloatForType", Dtype("f: 1"), kBad, kKind, kNode},
    {"StringForType", Dtype("s: 'DT_FLOAT'"), kBad, kKind, kNode},
    {"BoolForType", Dtype("b: true"), kBad, kKind, kNode},
    {"ShapeForType", Dtype("shape {}"), kBad, kKind, kNode},
    {"TensorForType", Dtype("tensor { dtype: DT_FLOAT }"), kBad, kKind, kNode},
    {"FuncForType", Dtype("func { name: 'f' }"), kBad, kKind, kNode},
    {"ListForType", Dtype("list { type: DT_FLOAT }"), kBad, kKind, kNode},
    {"EmptyListForType", Dtype("list {}"), kBad, kKind, kNode},
    {"PlaceholderForType", Dtype("placeholder: 'T'"), kBad, "Failed to bind 'T' in placeholder", kNode},
    {"TypeForShape", Shape("type: DT_FLOAT"), kBad, kKind, kNode},
    {"IntForShape", Shape("i: 3"), kBad, kKind, kNode},
    {"IntsForShape", Shape("list { i: [1, 2] }"), kBad, kKind, kNode},
    {"UnsetShape", Shape(""), kBad, "AttrValue missing value", kNode},
    {"IntForList", Conv(Attr("padding", "s: 'SAME'") + Attr("strides", "i: 1")), kBad, kKind, kNode},
    {"FloatsForInts", Conv(Attr("padding", "s: 'SAME'") + Attr("strides", "list { f: [1, 1] }")), kBad, kKind, kNode},
    {"StringsForInts", Conv(Attr("padding", "s: 'SAME'") + Attr("strides", "list { s: 'a' }")), kBad, kKind, kNode},
    {"TwoKindsInList", Conv(Attr("padding", "s: 'SAME'") + Attr("strides", "list { i: 1 f: 1 }")), kBad,
     "AttrValue has a list with values of 2 kinds", kNode},
    {"StringForInt", Placeholder("p") + NodeText("a", "AddN", In("p") + Type("T") + Attr("N", "s: '1'")), kBad, kKind,
     kNode},
    {"FloatForInt", Placeholder("p") + NodeText("a", "AddN", In("p") + Type("T") + Attr("N", "f: 1")), kBad, kKind,
     kNode},
    {"IntForBool",
     Placeholder("p") + NodeText("a", "MatMul", In("p") + In("p") + Type("T") + Attr("transpose_a", "i: 1")), kBad,
     kKind, kNode},
    {"StringForTensor", NodeText("a", "Const", Type("dtype") + Attr("value", "s: 'x'")), kBad, kKind, kNode},
    {"ListForTensor", NodeText("a", "Const", Type("dtype") + Attr("value", "list { tensor { dtype: DT_FLOAT } }")),
     kBad, kKind, kNode},
    {"TypeForTypeList", Placeholder("p") + NodeText("a", "IdentityN", In("p") + Type("T")), kBad, kKind, kNode},
    {"StringForFunc",
     NodeText("a", "PartitionedCall", Attr("Tin", "list {}") + Attr("Tout", "list {}") + Attr("f", "s: 'f'")), kBad,
     kKind, kNode},
    {"IntForString", NodeText("a", "VariableV2", Type("dtype") + Attr("shape", "shape {}") + Attr("container", "i: 1")),
     kBad, kKind, kNode},
};

const MalformedGraph kValues[] = {
    {"InvalidType", Dtype("type: DT_INVALID"), kBad, "Attr 'dtype'", kNode},
    {"UnknownType", Dtype("type: 777"), kBad, "AttrValue has invalid DataType enum: 777", kNode},
    {"Type256", Dtype("type: 257"), kBad, "AttrValue has invalid DataType enum: 257", kNode},
    {"NegativeType", Dtype("type: -1"), kBad, "AttrValue has invalid DataType enum: -1", kNode},
    {"FirstUnusedType", Dtype("type: 34"), kBad, "AttrValue has invalid DataType enum: 34", kNode},
    {"RefType", Dtype("type: DT_FLOAT_REF"), kBad, "AttrValue must not have reference type value of float_ref", kNode},
    {"RefTypeInList", Placeholder("p") + NodeText("a", "IdentityN", In("p") + Attr("T", "list { type: DT_FLOAT_REF }")),
     kBad, "AttrValue must not have reference type", kNode},
    {"UnknownTypeInList", Placeholder("p") + NodeText("a", "IdentityN", In("p") + Attr("T", "list { type: 55 }")), kBad,
     "AttrValue has invalid DataType enum: 55", kNode},
    {"InvalidTypeInList",
     Placeholder("p") + NodeText("a", "IdentityN", In("p") + Attr("T", "list { type: DT_INVALID }")), kBad, "Attr 'T'",
     kNode},
    {"TypeNotAllowed", Placeholder("p", "DT_STRING") + NodeText("a", "Neg", In("p") + Type("T", "DT_STRING")), kBad,
     "Value for attr 'T' of string is not in the list of allowed values", kNode},
    {"BoolNotAllowed", Placeholder("p", "DT_BOOL") + NodeText("a", "AddV2", In("p") + In("p") + Type("T", "DT_BOOL")),
     kBad, "Value for attr 'T' of bool is not in the list", kNode},
    {"StringNotAllowed", Conv(Attr("padding", "s: 'same'") + Attr("strides", "list { i: [1, 1, 1, 1] }")), kBad,
     "Value for attr 'padding' of \"same\" is not in the list of allowed values", kNode},
    {"EmptyStringNotAllowed", Conv(Attr("padding", "s: ''") + Attr("strides", "list { i: [1, 1, 1, 1] }")), kBad,
     "Value for attr 'padding' of \"\" is not in the list", kNode},
    {"FormatNotAllowed",
     Conv(Attr("padding", "s: 'SAME'") + Attr("strides", "list { i: [1, 1, 1, 1] }") + Attr("data_format", "s: 'X'")),
     kBad, "Value for attr 'data_format'", kNode},
    {"NBelowMinimum", NodeText("a", "AddN", Type("T") + Attr("N", "i: 0")), kBad,
     "Value for attr 'N' of 0 must be at least minimum 1", kNode},
    {"NNegative", NodeText("a", "AddN", Type("T") + Attr("N", "i: -1")), kBad,
     "Value for attr 'N' of -1 must be at least", kNode},
    {"NMostNegative", NodeText("a", "AddN", Type("T") + Attr("N", "i: -9223372036854775808")), kBad,
     "Value for attr 'N'", kNode},
    {"NumSplitHuge",
     Placeholder("p", "DT_INT32") +
         NodeText("a", "Split",
                  In("p") + In("p") + Type("T", "DT_INT32") + Attr("num_split", "i: 9223372036854775807")),
     kBad, "Attr 'num_split'", kNode},
    {"EmptyTypeList", NodeText("a", "IdentityN", Attr("T", "list {}")), kBad,
     "Length for attr 'T' of 0 must be at least minimum 1", kNode},
    {"ShapeBelowMinusOne", Shape("shape { dim { size: -7 } }"), kBad, "Dimension -7 must be >= -1", kNode},
    {"ShapeUnknownWithDims", Shape("shape { unknown_rank: true dim { size: 7 } }"), kBad,
     "An unknown shape must not have any dimensions set.", kNode},
    {"ShapeOverflow", Shape("shape { dim { size: 4611686018427387904 } dim { size: 4 } }"), kBad,
     "Encountered overflow", kNode},
    {"BadShapeInPrivateAttr",
     OnPlaceholder(Type("dtype") + Attr("_output_shapes", "list { shape { dim { size: -3 } } }")), kBad, "Dimension -3",
     kNode},
    {"PlaceholderInFunc",
     OnPlaceholder(Type("dtype") + Attr("_f", "func { name: 'f' attr { key: 'T' value { placeholder: 'U' } } }")), kBad,
     "Failed to bind 'U' in placeholder", kNode},
    {"PlaceholderInFuncList",
     OnPlaceholder(Type("dtype") +
                   Attr("_f", "list { func { name: 'f' attr { key: 'T' value { placeholder: 'U' } } } }")),
     kBad, "Failed to bind 'U' in placeholder", kNode},
};

constexpr char kMentions[] = "NodeDef mentions attr";
const MalformedGraph kUnknownAttrs[] = {
    {"Plain", OnPlaceholder(Type("dtype") + Attr("zzz", "i: 1")), kBad,
     "NodeDef mentions attr 'zzz' not in Op<name=Placeholder", kNode},
    {"OnNoOp", NodeText("a", "NoOp", Type("T")), kBad, kMentions, kNode},
    {"OtherCase", OnPlaceholder(Type("dtype") + Type("Dtype")), kBad, kMentions, kNode},
    {"UnderscoreInside", OnPlaceholder(Type("dtype") + Attr("a_b", "i: 1")), kBad, kMentions, kNode},
};

constexpr char kCannot[] = "Cannot parse tensor from proto";
const MalformedGraph kTensors[] = {
    {"NoType", Const("float_val: 1"), kBad, kCannot, kNode},
    {"RefType", Const("dtype: DT_FLOAT_REF"), kBad, kCannot, kNode},
    {"ContentTooShort", Const("dtype: DT_FLOAT tensor_content: '\\000\\000\\000\\000'" + Dims("1000")), kBad, kCannot,
     kNode},
    {"ContentTooLong", Const("dtype: DT_FLOAT tensor_content: '12345678'" + Dims("1")), kBad, kCannot, kNode},
    {"Overflow", Const("dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } dim { size: 1099511627776 } }"),
     kBad, kCannot, kNode},
    {"NegativeDim", Const("dtype: DT_FLOAT tensor_content: '1234'" + Dims("-5")), kBad, kCannot, kNode},
    {"UnknownRank", Const("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), kBad, kCannot, kNode},
    {"OneValueManyElements", Const("dtype: DT_FLOAT float_val: 1" + Dims("274877906944")), kTooBig, kCannot, kNode},
    {"MoreValues", Const("dtype: DT_FLOAT float_val: [1, 2]"), kBad, kCannot, kNode},
    {"BadStrings", Const("dtype: DT_STRING tensor_content: '\\377'", "DT_STRING"), kBad, kCannot, kNode},
    {"OtherType", Const("dtype: DT_FLOAT float_val: 1", "DT_INT32"), kBad,
     "Const: attr 'dtype' is int32 but attr 'value' holds float", kNode},
    {"OtherTypeOfSameSize", Const("dtype: DT_INT32 int_val: 1"), kBad, "Const: attr 'dtype' is float", kNode},
    {"NumberForString", Const("dtype: DT_INT64 int64_val: 1", "DT_STRING"), kBad, "Const: attr 'dtype' is string",
     kNode},
    {"InPrivateAttr", OnPlaceholder(Type("dtype") + Attr("_t", "tensor { dtype: DT_FLOAT float_val: [1, 2] }")), kBad,
     kCannot, kNode},
    {"InList", OnPlaceholder(Type("dtype") + Attr("_t", "list { tensor { dtype: 99 } }")), kBad, kCannot, kNode},
    {"InFunc",
     OnPlaceholder(Type("dtype") + Attr("_t", "func { name: 'f' attr { key: 'v' value { tensor { dtype: 99 } } } }")),
     kBad, kCannot, kNode},
    {"InListOfFuncs",
     OnPlaceholder(Type("dtype") + Attr("_t", "list { func { attr { key: 'v' value { tensor { dtype: 99 } } } } }")),
     kBad, kCannot, kNode},
};

class AttrMalformedTest : public ::testing::TestWithParam<MalformedGraph> {};
TEST_P(AttrMalformedTest, IsRefused) { ExpectRefused(GetParam()); }

#define MILLSTREAM_TABLE(table)                                                     \
  INSTANTIATE_TEST_SUITE_P(table, AttrMalformedTest, ::testing::ValuesIn(k##table), \
                           [](const auto& info) { return NameOf(info.param); })
MILLSTREAM_TABLE(Missing);
MILLSTREAM_TABLE(Kinds);
MILLSTREAM_TABLE(Values);
MILLSTREAM_TABLE(UnknownAttrs);
MILLSTREAM_TABLE(Tensors);

}  // namespace
}  // namespace millstream
