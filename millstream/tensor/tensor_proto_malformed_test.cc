// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

constexpr auto kBad = absl::StatusCode::kInvalidArgument;
constexpr auto kTooBig = absl::StatusCode::kResourceExhausted;
constexpr auto kUnsupported = absl::StatusCode::kUnimplemented;

struct Malformed {
  const char* name;
  const char* text;
  absl::StatusCode code;
};

#define VEC(n) " tensor_shape { dim { size: " #n " } } "

const Malformed kMalformed[] = {
    // Types.
    {"NoType", "float_val: 1", kBad},
    {"InvalidType", "dtype: DT_INVALID float_val: 1", kBad},
    {"RefType", "dtype: DT_FLOAT_REF float_val: 1", kBad},
    {"StringRefType", "dtype: DT_STRING_REF", kBad},
    {"ResourceRefType", "dtype: DT_RESOURCE_REF", kBad},
    {"Float8TooShort", "dtype: DT_FLOAT8_E5M2 tensor_shape { dim { size: 3 } } tensor_content: \"ab\"", kBad},
    {"Int4TooLong", "dtype: DT_INT4 tensor_shape { dim { size: 3 } } tensor_content: \"abcd\"", kBad},
    {"UnknownType", "dtype: 77", kBad},
    {"TypeAbove255", "dtype: 257", kBad},
    {"HugeType", "dtype: 2147483647", kBad},
    {"NegativeType", "dtype: -1", kBad},
    {"TypeJustPast", "dtype: 34", kBad},
    {"Type100", "dtype: 100", kBad},
    // Shapes.
    {"NegativeDim", "dtype: DT_FLOAT" VEC(-1), kBad},
    {"VeryNegativeDim", "dtype: DT_FLOAT" VEC(-9223372036854775808), kBad},
    {"UnknownRank", "dtype: DT_FLOAT tensor_shape { unknown_rank: true }", kBad},
    {"UnknownRankWithDims", "dtype: DT_FLOAT tensor_shape { unknown_rank: true dim { size: 2 } }", kBad},
    {"ProductOverflow", "dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } dim { size: 1099511627776 } }",
     kBad},
    {"ProductOverflowBehindZero",
     "dtype: DT_FLOAT tensor_shape { dim { size: 0 } dim { size: 1099511627776 } dim { size: 1099511627776 } }", kBad},
    {"ProductIsTwoTo63", "dtype: DT_UINT8 tensor_shape { dim { size: 4611686018427387904 } dim { size: 2 } }", kBad},
    {"ProductOfThreeOverflows",
     "dtype: DT_UINT8 tensor_shape { dim { size: 4294967296 } dim { size: 4294967296 } dim { size: 4294967296 } }",
     kBad},
    {"NegativeTimesNegative", "dtype: DT_FLOAT tensor_shape { dim { size: -2 } dim { size: -2 } } float_val: 1", kBad},
    {"OneNegativeAmongZeros", "dtype: DT_FLOAT tensor_shape { dim { size: 0 } dim { size: -1 } }", kBad},
    // Sizes that a few bytes ask for.
    {"Splat2To38", "dtype: DT_FLOAT" VEC(274877906944) "float_val: 1", kTooBig},
    {"SplatBytesOverflow", "dtype: DT_DOUBLE" VEC(4611686018427387904) "double_val: 1", kTooBig},
    {"SplatMaximum", "dtype: DT_UINT8" VEC(9223372036854775807) "int_val: 1", kTooBig},
    {"ZerosTooLarge", "dtype: DT_INT64" VEC(1000000000), kTooBig},
    {"HalfTooLarge", "dtype: DT_HALF" VEC(1073741825) "half_val: 1", kTooBig},
    {"BoolTooLarge", "dtype: DT_BOOL" VEC(2147483649) "bool_val: true", kTooBig},
    {"ComplexTooLarge", "dtype: DT_COMPLEX128" VEC(134217729) "dcomplex_val: [1, 2]", kTooBig},
    {"StringHeadersTooLarge", "dtype: DT_STRING" VEC(100000000), kTooBig},
    {"StringSplatTooLarge", "dtype: DT_STRING" VEC(4611686018427387904) "string_val: 'a long string that repeats'",
     kTooBig},
    {"StringBytesTooLarge",
     "dtype: DT_STRING" VEC(
         60000000) "string_val: 'a string of more than thirty-two bytes, repeated sixty million times'",
     kTooBig},
    {"HandlesTooLarge", "dtype: DT_RESOURCE" VEC(100000000) "resource_handle_val { name: 'v' }", kTooBig},
    {"HandlesOverflow", "dtype: DT_RESOURCE" VEC(4611686018427387904) "resource_handle_val { name: 'v' }", kTooBig},
    {"VariantsTooLarge", "dtype: DT_VARIANT" VEC(1000000000), kTooBig},
    {"ManyDimsTooLarge", "dtype: DT_FLOAT tensor_shape { dim { size: 65536 } dim { size: 65536 } } float_val: 1",
     kTooBig},
    // Content that does not fit.
    {"ContentTooShort", "dtype: DT_FLOAT" VEC(1000) "tensor_content: '\\000\\000\\000\\000'", kBad},
    {"ContentTooLong", "dtype: DT_FLOAT" VEC(1) "tensor_content: '\\000\\000\\000\\000\\000\\000\\000\\000'", kBad},
    {"ContentOddLength", "dtype: DT_FLOAT tensor_content: 'abc'", kBad},
    {"ContentForHugeTensor", "dtype: DT_FLOAT" VEC(4611686018427387904) "tensor_content: 'abcd'", kBad},
    {"ContentSizeWraps", "dtype: DT_FLOAT" VEC(4611686018427387905) "tensor_content: 'abcd'", kBad},
    {"BoolContentTooShort", "dtype: DT_BOOL" VEC(2) "tensor_content: '\\001'", kBad},
    {"ComplexContentTooShort", "dtype: DT_COMPLEX64 tensor_content: 'abcd'", kBad},
    {"HalfContentTooShort", "dtype: DT_HALF" VEC(2) "tensor_content: 'ab'", kBad},
    {"Qint8ContentTooLong", "dtype: DT_QINT8" VEC(2) "tensor_content: 'abc'", kBad},
    {"Int64ContentTooShort", "dtype: DT_INT64 tensor_content: 'abcdefg'", kBad},
    {"ContentForNegativeDim", "dtype: DT_FLOAT" VEC(-5) "tensor_content: 'abcd'", kBad},
    // More values than elements.
    {"TwoFloatsForScalar", "dtype: DT_FLOAT float_val: [1, 2]", kBad},
    {"ManyDoubles", "dtype: DT_DOUBLE" VEC(2) "double_val: [1, 2, 3]", kBad},
    {"ManyInts", "dtype: DT_INT32" VEC(2) "int_val: [1, 2, 3]", kBad},
    {"ManyInt8s", "dtype: DT_INT8" VEC(2) "int_val: [1, 2, 3]", kBad},
    {"ManyUint16s", "dtype: DT_UINT16" VEC(2) "int_val: [1, 2, 3]", kBad},
    {"ManyInt64s", "dtype: DT_INT64" VEC(2) "int64_val: [1, 2, 3]", kBad},
    {"ManyUint32s", "dtype: DT_UINT32" VEC(2) "uint32_val: [1, 2, 3]", kBad},
    {"ManyUint64s", "dtype: DT_UINT64" VEC(2) "uint64_val: [1, 2, 3]", kBad},
    {"ManyBools", "dtype: DT_BOOL" VEC(1) "bool_val: [true, false]", kBad},
    {"ManyHalves", "dtype: DT_HALF half_val: [1, 2]", kBad},
    {"ManyBfloat16s", "dtype: DT_BFLOAT16 half_val: [1, 2]", kBad},
    {"ManyQint32s", "dtype: DT_QINT32 int_val: [1, 2]", kBad},
    {"ManyComplex", "dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3, 4]", kBad},
    {"ManyStrings", "dtype: DT_STRING string_val: 'a' string_val: 'b'", kBad},
    {"ManyHandles", "dtype: DT_RESOURCE resource_handle_val {} resource_handle_val {}", kBad},
    {"ManyVariants", "dtype: DT_VARIANT variant_val {} variant_val {}", kBad},
    {"OddComplex64", "dtype: DT_COMPLEX64" VEC(4) "scomplex_val: [1, 2, 3]", kBad},
    {"OddComplex128", "dtype: DT_COMPLEX128" VEC(4) "dcomplex_val: [1]", kBad},
    // Strings in tensor_content.
    {"StringsNoLengths", "dtype: DT_STRING" VEC(4) "tensor_content: '\\000\\000'", kBad},
    {"StringLengthPastEnd", "dtype: DT_STRING tensor_content: '\\005ab'", kBad},
    {"StringLengthBeforeEnd", "dtype: DT_STRING tensor_content: '\\001ab'", kBad},
    {"StringLengthUnfinished", "dtype: DT_STRING tensor_content: '\\200'", kBad},
    {"StringLengthOfElevenBytes",
     "dtype: DT_STRING tensor_content: '\\200\\200\\200\\200\\200\\200\\200\\200\\200\\200\\001'", kBad},
    {"StringLengthHuge", "dtype: DT_STRING tensor_content: '\\377\\377\\377\\377\\377\\377\\377\\377\\377\\001'", kBad},
    {"StringLengthsWrap",
     "dtype: DT_STRING" VEC(
         2) "tensor_content: "
            "'\\377\\377\\377\\377\\377\\377\\377\\377\\377\\001\\377\\377\\377\\377\\377\\377\\377\\377\\377\\001'",
     kBad},
    {"StringContentForMany", "dtype: DT_STRING" VEC(4611686018427387904) "tensor_content: 'a'", kBad},
    // Variants.
    {"VariantOfUnknownType", "dtype: DT_VARIANT variant_val { type_name: 'nobody::Knows' }", kUnsupported},
    {"VariantWithoutParts", "dtype: DT_VARIANT variant_val { type_name: 'tensorflow::TensorList' }", kBad},
    {"VariantContent", "dtype: DT_VARIANT tensor_content: '\\x05abc'", kBad},
    {"VariantContentThatIsNone", "dtype: DT_VARIANT tensor_content: '\\x03abc'", kBad},
};

class TensorProtoMalformedTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(TensorProtoMalformedTest, IsRefused) {
  proto::TensorProto proto;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().text, &proto));
  const Status status = TensorFromProto(proto).status();
  EXPECT_EQ(status.code(), GetParam().code) << status;
}

INSTANTIATE_TEST_SUITE_P(All, TensorProtoMalformedTest, ::testing::ValuesIn(kMalformed),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TensorProtoMalformedShapeTest, TooManyDimensions) {
  proto::TensorProto proto;
  proto.set_dtype(proto::DT_FLOAT);
  for (int i = 0; i < 254; ++i) proto.mutable_tensor_shape()->add_dim()->set_size(1);
  EXPECT_TRUE(TensorFromProto(proto).ok());
  for (int i = 0; i < 100000; ++i) proto.mutable_tensor_shape()->add_dim()->set_size(1);
  EXPECT_EQ(TensorFromProto(proto).status().code(), kBad);
  EXPECT_EQ(PartialShapeFromProto(proto.tensor_shape()).status().code(), kBad);
}

}  // namespace
}  // namespace millstream
